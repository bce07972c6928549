module github.com/libsampler/libsampler/integrations/yzma

go 1.19

require (
	github.com/ebitengine/purego v0.10.0
	github.com/hybridgroup/yzma v1.24.0
)
