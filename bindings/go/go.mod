module github.com/libsampler/libsampler/bindings/go

go 1.19
