// Package purego stands for purego, which needs no cgo, by cgo: the few functions that
// integrations/yzma and its test use. It is no part of purego.
package purego

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

static const char *reason(void) {
  const char *text = dlerror();
  return text ? text : "dlerror() tells nothing";
}

static uintptr_t call(uintptr_t function, uintptr_t a, uintptr_t b, uintptr_t c) {
  return ((uintptr_t(*)(uintptr_t, uintptr_t, uintptr_t))function)(a, b, c);
}
*/
import "C"

import (
	"errors"
	"runtime"
	"unsafe"
)

const (
	RTLD_NOW    = C.RTLD_NOW
	RTLD_GLOBAL = C.RTLD_GLOBAL
)

func Dlopen(path string, mode int) (uintptr, error) {
	return opened(path, func(text *C.char) unsafe.Pointer { return C.dlopen(text, C.int(mode)) })
}

func Dlsym(handle uintptr, name string) (uintptr, error) {
	return opened(name, func(text *C.char) unsafe.Pointer { return C.dlsym(*(*unsafe.Pointer)(unsafe.Pointer(&handle)), text) })
}

// dlerror is of the thread.
func opened(text string, open func(*C.char) unsafe.Pointer) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	name := C.CString(text)
	defer C.free(unsafe.Pointer(name))
	if result := open(name); result != nil {
		return uintptr(result), nil
	}
	return 0, errors.New(C.GoString(C.reason()))
}

// SyscallN takes at most three arguments here. What a uintptr that is made in a call points to stays,
// as in purego.
//
//go:uintptrescapes
func SyscallN(fn uintptr, args ...uintptr) (r1, r2, err uintptr) {
	var a [3]C.uintptr_t
	for i, arg := range args {
		a[i] = C.uintptr_t(arg)
	}
	return uintptr(C.call(C.uintptr_t(fn), a[0], a[1], a[2])), 0, 0
}
