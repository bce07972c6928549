//! Tells the linker where libsampler is: in `SAMPLER_LIB_DIR`, or where pkg-config finds it.

use std::env;
use std::process::{exit, Command};

fn main() {
    for variable in ["SAMPLER_LIB_DIR", "PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_DLOPEN").is_some() {
        return;
    }
    match library_dir() {
        Ok(dir) => {
            println!("cargo:rustc-link-search=native={dir}");
            println!("cargo:rustc-link-lib=dylib=sampler");
        }
        Err(reason) => {
            eprintln!(
                "libsampler was not found: {reason}\n\
                 Install it, and set PKG_CONFIG_PATH to the folder of its sampler.pc or \
                 SAMPLER_LIB_DIR to that of its libsampler.so.\n\
                 With the feature \"dlopen\" the build needs no library."
            );
            exit(1);
        }
    }
}

fn library_dir() -> Result<String, String> {
    if let Ok(dir) = env::var("SAMPLER_LIB_DIR") {
        return Ok(dir);
    }
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into());
    let output = Command::new(&program)
        .args(["--print-errors", "--variable=libdir", "sampler"])
        .output()
        .map_err(|error| format!("{program} does not run: {error}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{program} says: {}", text.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
}
