module github.com/libsampler/libsampler/tests/integrations/yzma

go 1.19

require (
	github.com/ebitengine/purego v0.10.0
	github.com/hybridgroup/yzma v1.24.0
	github.com/libsampler/libsampler/integrations/yzma v0.0.0
)

// No module is fetched: two stand for those that integrations/yzma takes.
replace (
	github.com/ebitengine/purego => ./fake_purego
	github.com/hybridgroup/yzma => ./fake_yzma
	github.com/libsampler/libsampler/integrations/yzma => ../../../integrations/yzma
)
