//! Adapter of crosscheck. Replace read, and the name and version in main.
use std::io::BufRead;

/// Returns the decoded bytes of a file, or None to skip it. An error refuses the file.
fn read(_path: &str, _area: &str, _object: &str, _dtype: &str, _item: usize) -> Result<Option<Vec<u8>>, String> {
    Err("call your library here".into())
}

fn main() {
    println!("hyperslab.crosscheck.adapter/1\tNAME\tVERSION");
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a request");
        let f: Vec<&str> = line.split('\t').collect();
        let result = match f[0] {
            "read" => read(f[1], f[3], f[4], f[5], f[6].parse().expect("an integer")),
            _ => Ok(None),
        };
        let written = result.and_then(|data| match data {
            Some(b) => std::fs::write(f[2], b).map(|()| "ok").map_err(|e| e.to_string()),
            None => Ok("skip"),
        });
        match written {
            Ok(answer) => println!("{answer}"),
            Err(e) => println!("refused\t{}", e.replace(['\t', '\n'], " ")),
        }
    }
}
