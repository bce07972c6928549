//! What C says of the structs, constants and defaults, beside what stands here.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, process, slice};

use super::*;

fn project_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// Compiles a C program that includes the headers and gives what it prints.
fn output_of_c(name: &str, body: &str) -> String {
    let dir = env::temp_dir().join(format!("sampler-sys-{name}-{}", process::id()));
    fs::create_dir_all(&dir).unwrap();
    let (source, program) = (dir.join("main.c"), dir.join("main"));
    let text = format!(
        "#include <sampler/sampler.h>\n#include <stddef.h>\n#include <stdio.h>\n\
         int main(void) {{\n{body}  return 0;\n}}\n"
    );
    fs::write(&source, text).unwrap();
    let compiled = Command::new("cc")
        .arg("-I")
        .arg(project_dir().join("include"))
        .args([&source, Path::new("-o"), &program])
        .status()
        .unwrap();
    assert!(compiled.success());
    let output = Command::new(&program).output().unwrap();
    fs::remove_dir_all(&dir).unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn text_of(layouts: &[Layout]) -> String {
    let mut text = String::new();
    for (name, size, members) in layouts {
        writeln!(text, "{name} {size}").unwrap();
        for (member, offset, size) in members {
            writeln!(text, "  {member} {offset} {size}").unwrap();
        }
    }
    text
}

#[test]
fn structs_are_laid_out_as_in_c() {
    let mut program = String::new();
    for (name, _, members) in layouts() {
        writeln!(program, "printf(\"{name} %zu\\n\", sizeof({name}));").unwrap();
        for (member, _, _) in members {
            writeln!(
                program,
                "printf(\"  {member} %zu %zu\\n\", offsetof({name}, {member}), \
                 sizeof((({name} *)0)->{member}));"
            )
            .unwrap();
        }
    }
    assert_eq!(text_of(&layouts()), output_of_c("layout", &program));
}

/// tests/abi compares that file with all structs that are in the headers, so none is missing here.
#[test]
fn no_struct_or_member_is_missing() {
    let mut layouts = layouts();
    layouts.sort();
    let of_the_headers = fs::read_to_string(project_dir().join("tests/abi/layout.txt")).unwrap();
    assert_eq!(text_of(&layouts), of_the_headers);
}

#[test]
fn constants_have_the_values_of_c() {
    let (mut rust, mut program) = (String::new(), String::new());
    for (name, value) in CONSTANTS {
        writeln!(rust, "{name} {value}").unwrap();
        writeln!(program, "printf(\"{name} %lld\\n\", (long long){name});").unwrap();
    }
    assert_eq!(rust, output_of_c("constants", &program));
}

fn bytes_of<T>(value: &T) -> &[u8] {
    // SAFETY: the structs have no padding, tests/abi checks that.
    unsafe { slice::from_raw_parts((value as *const T).cast(), size_of::<T>()) }
}

#[cfg(feature = "dlopen")]
fn load_library() {
    // SAFETY: the system's libsampler.
    unsafe { load(None) }.unwrap();
}

#[cfg(not(feature = "dlopen"))]
fn load_library() {}

macro_rules! check_defaults {
    ($($name:ident $init:ident),*) => {$({
        let mut value = $name::INIT;
        // SAFETY: writes over a struct as large as is said.
        let status = unsafe {
            std::ptr::write_bytes(&mut value, 0xcd, 1);
            $init(&mut value, size_of::<$name>())
        };
        assert_eq!(status, SAMPLER_OK);
        assert_eq!(bytes_of(&value), bytes_of(&$name::INIT), stringify!($name));
    })*};
}

#[test]
fn init_is_what_the_library_fills_in() {
    load_library();
    check_defaults!(
        sampler_options sampler_options_init,
        sampler_params sampler_params_init,
        sampler_generation_args sampler_generation_args_init,
        sampler_speculative_args sampler_speculative_args_init,
        sampler_beam_search_args sampler_beam_search_args_init
    );
}
