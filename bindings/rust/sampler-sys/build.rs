//! Tells the linker where libsampler is: in `SAMPLER_LIB_DIR`, or where pkg-config finds it. With the
//! feature `bundled` compiles it, for the CPU, from the sources in `library`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{exit, Command};
use std::sync::{Mutex, PoisonError};
use std::thread;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let result = if env::var_os("CARGO_FEATURE_DLOPEN").is_some() {
        Ok(())
    } else if env::var_os("CARGO_FEATURE_BUNDLED").is_some() {
        build_library().map_err(|reason| format!("libsampler was not compiled: {reason}"))
    } else {
        find_library()
    };
    if let Err(reason) = result {
        eprintln!("{reason}");
        exit(1);
    }
}

// ---- Finding it ---------------------------------------------------------------------------------

fn find_library() -> Result<(), String> {
    for variable in ["SAMPLER_LIB_DIR", "PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    let dir = library_dir().map_err(|reason| {
        format!(
            "libsampler was not found: {reason}\n\
             Install it, and set PKG_CONFIG_PATH to the folder of its sampler.pc or \
             SAMPLER_LIB_DIR to that of its libsampler.so.\n\
             With the feature \"bundled\" the build compiles it, with \"dlopen\" it needs none."
        )
    })?;
    println!("cargo:rustc-link-search=native={dir}");
    println!("cargo:rustc-link-lib=dylib=sampler");
    Ok(())
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

// ---- Compiling it -------------------------------------------------------------------------------

/// What src/CMakeLists.txt gives every unit: an fma that is not written would change tokens.
const OPTIONS: [&str; 9] = [
    "-std=c++17",
    "-O3",
    "-DNDEBUG",
    "-ffp-contract=off",
    "-fPIC",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    "-fstack-protector-strong",
    "-pthread",
];

/// Units of one instruction set: the architecture, and the options that no other unit may have.
const ISA_UNITS: [(&str, &str, &[&str]); 3] = [
    ("avx2.cpp", "x86_64", &["-mavx2", "-mfma", "-mf16c"]),
    (
        "avx512.cpp",
        "x86_64",
        &["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx2", "-mfma", "-mf16c"],
    ),
    ("neon.cpp", "aarch64", &[]),
];

/// For CUDA, and for a library that has the C++ library in it.
const LEFT_OUT: [&str; 3] = ["cuda/backend.cpp", "cuda/prepare.cpp", "abi/exception_memory.cpp"];

struct Unit {
    source: PathBuf,
    object: PathBuf,
    options: &'static [&'static str],
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

/// All units below `dir`, in the order of their names.
fn add_units(
    root: &Path,
    dir: &Path,
    out_dir: &Path,
    arch: &str,
    units: &mut Vec<Unit>,
) -> Result<(), String> {
    let entries = fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(|error| format!("{}: {error}", dir.display()))?;
    paths.sort();
    for path in paths {
        let name = path.strip_prefix(root).expect("it is below").to_string_lossy().into_owned();
        if path.is_dir() {
            add_units(root, &path, out_dir, arch, units)?;
        } else if name.ends_with(".cpp") && !LEFT_OUT.contains(&name.as_str()) {
            let isa = ISA_UNITS.iter().find(|(unit, _, _)| name == format!("cpu/simd/{unit}"));
            if isa.map_or(true, |(_, of, _)| *of == arch) {
                units.push(Unit {
                    object: out_dir.join(name.replace('/', "_")).with_extension("o"),
                    source: path,
                    options: isa.map_or(&[], |(_, _, options)| options),
                });
            }
        }
    }
    Ok(())
}

/// Runs a program, whose messages are shown if it fails.
fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{program} does not run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{program} failed:\n{}", String::from_utf8_lossy(&output.stderr)))
}

/// The program that a variable names, for the target first: CXX_aarch64-unknown-linux-gnu, as other
/// build scripts have it.
fn program(name: &str, default: &str) -> String {
    let target = variable("TARGET");
    let names =
        [format!("{name}_{target}"), format!("{name}_{}", target.replace('-', "_")), name.into()];
    for name in &names {
        println!("cargo:rerun-if-env-changed={name}");
    }
    names.iter().find_map(|name| env::var(name).ok()).unwrap_or_else(|| default.into())
}

fn build_library() -> Result<(), String> {
    let library = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("library");
    let (out_dir, arch) = (PathBuf::from(variable("OUT_DIR")), variable("CARGO_CFG_TARGET_ARCH"));
    println!("cargo:rerun-if-changed={}", library.display());
    if variable("CARGO_CFG_TARGET_OS") != "linux" {
        return Err("the library is for Linux".into());
    }
    let (root, mut units) = (library.join("src"), vec![]);
    add_units(&root, &root, &out_dir, &arch, &mut units)?;
    let cross = variable("TARGET") != variable("HOST");
    let (cxx, ar) = match (cross, arch.as_str()) {
        (true, "aarch64") => ("aarch64-linux-gnu-g++", "aarch64-linux-gnu-ar"),
        _ => ("c++", "ar"),
    };
    let (cxx, ar) = (program("CXX", cxx), program("AR", ar));
    let objects: Vec<PathBuf> = units.iter().map(|unit| unit.object.clone()).collect();

    let jobs = env::var("NUM_JOBS").ok().and_then(|jobs| jobs.parse().ok()).unwrap_or(1);
    let (left, failures) = (Mutex::new(units), Mutex::new(vec![]));
    let take = || left.lock().unwrap_or_else(PoisonError::into_inner).pop();
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some(unit) = take() {
                    let mut command = Command::new(&cxx);
                    command.args(OPTIONS).args(unit.options);
                    for folder in ["src", "include", "kernels"] {
                        command.arg("-I").arg(library.join(folder));
                    }
                    command.arg("-c").arg(&unit.source).arg("-o").arg(&unit.object);
                    if let Err(reason) = run(&mut command) {
                        failures.lock().unwrap_or_else(PoisonError::into_inner).push(reason);
                        while take().is_some() {} // the others need not begin
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(first) = failures.into_iter().next() {
        return Err(first);
    }

    let archive = out_dir.join("libsampler.a");
    let _ = fs::remove_file(&archive); // ar would add to it
    run(Command::new(&ar).arg("qcsD").arg(&archive).args(&objects))?;
    println!("cargo:rustc-link-search=native={}", out_dir.display());
    println!("cargo:rustc-link-lib=static=sampler");
    for library in ["stdc++", "m", "pthread"] {
        println!("cargo:rustc-link-lib=dylib={library}");
    }
    Ok(())
}
