//! The library opened at run time. One test: what is loaded stays loaded.
#![cfg(feature = "dlopen")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, panic, process};

use sampler_sys::*;

/// Compiles a shared library of this text.
fn library(dir: &Path, name: &str, text: &str) -> PathBuf {
    let (source, library) = (dir.join(name).with_extension("c"), dir.join(name));
    fs::write(&source, text).unwrap();
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status()
        .unwrap();
    assert!(compiled.success());
    library
}

fn refusal_of(path: &Path) -> String {
    // SAFETY: the files are missing, or do nothing when opened.
    unsafe { load(Some(path)) }.unwrap_err().to_string()
}

#[test]
fn load_refuses_what_does_not_fit_and_finds_what_does() {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| ()));
    // SAFETY: the function needs nothing but a loaded library.
    let before = panic::catch_unwind(|| unsafe { sampler_version() }).unwrap_err();
    panic::set_hook(hook);
    assert_eq!(
        *before.downcast::<String>().unwrap(),
        "libsampler is not loaded: call sampler_sys::load first"
    );

    let dir = env::temp_dir().join(format!("sampler-sys-dlopen-{}", process::id()));
    fs::create_dir_all(&dir).unwrap();
    let other = library(&dir, "other.so", "int unrelated;\n");
    let newer = library(&dir, "newer.so", "unsigned sampler_abi_version(void) { return 7; }\n");
    let partial = library(
        &dir,
        "partial.so",
        &format!("unsigned sampler_abi_version(void) {{ return {SAMPLER_ABI_VERSION}; }}\n"),
    );
    assert!(refusal_of(Path::new("/no/such/libsampler.so")).contains("/no/such/libsampler.so"));
    assert_eq!(refusal_of(Path::new("a\0b")), "the path of the library contains a zero byte");
    assert!(refusal_of(&other).contains("sampler_abi_version"));
    let refusal =
        format!("the ABI version of {} is 7; it must be {SAMPLER_ABI_VERSION}", newer.display());
    assert_eq!(refusal_of(&newer), refusal);
    assert!(refusal_of(&partial).contains("sampler_version"));
    fs::remove_dir_all(&dir).unwrap();

    // SAFETY: libsampler, found by its name.
    unsafe {
        load(None).unwrap();
        load(Some(Path::new("/no/such/libsampler.so"))).unwrap();
        assert_eq!(sampler_version(), SAMPLER_VERSION);
        let mut sampler = std::ptr::null_mut();
        assert_eq!(sampler_create(std::ptr::null(), &mut sampler), SAMPLER_OK);
        sampler_destroy(sampler);
    }
}
