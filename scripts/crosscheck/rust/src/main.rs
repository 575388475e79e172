//! The Rust peers: an adapter of crosscheck. The first argument is the name of the peer.

use std::io::{BufRead, Write};
use std::panic::{catch_unwind, AssertUnwindSafe};

type Outcome = Result<(Vec<u8>, &'static str), String>;

fn text<E: std::fmt::Display>(e: E) -> String {
    e.to_string()
}

/// Reads stored elements, or elements in the byte order of x86 ("little").
fn read(peer: &str, path: &str, area: &str, object: &str) -> Outcome {
    match (peer, area) {
        ("blusc", "chunk") => Ok((blusc::convenience::blosc2_decompress(&std::fs::read(path).map_err(text)?).map_err(text)?, "")),
        ("blusc", "blosc1") => Ok((blusc::convenience::blosc1_decompress(&std::fs::read(path).map_err(text)?).map_err(text)?, "")),
        ("blosc2-pure-rs", "chunk") => Ok((blosc2_pure_rs::compress::decompress(&std::fs::read(path).map_err(text)?).map_err(text)?, "")),
        ("blosc2-pure-rs", "blosc1") => {
            let b = std::fs::read(path).map_err(text)?;
            let (n, _, _) = blosc2_pure_rs::compress::blosc1_cbuffer_sizes(&b).map_err(text)?;
            let mut out = vec![0; n];
            blosc2_pure_rs::compress::blosc1_decompress(&b, &mut out).map_err(text)?;
            Ok((out, ""))
        }
        ("blosc2-pure-rs", "frame") => Ok((blosc2_pure_rs::schunk::Schunk::open(path).map_err(text)?.decompress_all().map_err(text)?, "")),
        ("blosc2-pure-rs", "b2nd" | "caterva") => Ok((blosc2_pure_rs::B2ndArray::open(path).map_err(text)?.to_dense_buffer().map_err(text)?, "")),
        ("zarrs", "blosc1") => zarrs_blosc(std::fs::read(path).map_err(text)?),
        ("hdf5-reader", "hdf5") => {
            let f = hdf5_reader::Hdf5File::open(path).map_err(text)?;
            Ok((f.dataset(object).map_err(text)?.read_raw_bytes().map_err(text)?, ""))
        }
        ("hdf5-pure", "hdf5") => {
            let f = hdf5_pure::File::open(path).map_err(text)?;
            Ok((f.dataset(object).map_err(text)?.read_raw().map_err(text)?, ""))
        }
        ("oxih5", "hdf5") => {
            let f = oxih5::open(path).map_err(text)?;
            Ok((f.dataset(object).map_err(text)?.data, ""))
        }
        _ => Err("skip".into()),
    }
}

/// Decodes a chunk with the Blosc codec of zarrs. Its parameters are only used to encode.
fn zarrs_blosc(b: Vec<u8>) -> Outcome {
    use zarrs::array::{codec::BloscCodec, BytesToBytesCodecTraits, CodecOptions};
    use zarrs::metadata_ext::codec::blosc::{BloscCompressor, BloscShuffleMode};
    let level = 5u8.try_into().map_err(|_| "the level of compression".to_string())?;
    let codec = BloscCodec::new(BloscCompressor::LZ4, level, None, BloscShuffleMode::NoShuffle, None).map_err(text)?;
    let out = codec.decode(b.into(), &zarrs::array::BytesRepresentation::UnboundedSize, &CodecOptions::default()).map_err(text)?;
    Ok((out.into_owned(), ""))
}

fn numbers<const N: usize, T>(data: &[u8], dtype: &str, little: fn([u8; N]) -> T, big: fn([u8; N]) -> T) -> Vec<T> {
    let from = if dtype.starts_with('>') { big } else { little };
    data.chunks_exact(N).map(|e| from(e.try_into().unwrap())).collect()
}

/// Writes a dataset of numbers. The library writes them in little-endian order.
fn write(peer: &str, data: &str, out: &str, area: &str, object: &str, dtype: &str, shape: &str) -> Result<(), String> {
    let name = object.trim_start_matches('/');
    if peer != "hdf5-pure" || area != "hdf5" || object.contains('@') || name.contains('/') || dtype.starts_with('>') {
        return Err("skip".into());
    }
    let bytes = std::fs::read(data).map_err(text)?;
    let shape: Vec<u64> = shape.split(',').filter(|s| !s.is_empty()).map(|s| s.parse().unwrap()).collect();
    let mut builder = hdf5_pure::FileBuilder::new();
    let d = builder.create_dataset(name);
    match dtype.get(1..).unwrap_or("") {
        "i1" => d.with_i8_data(&numbers(&bytes, dtype, i8::from_le_bytes, i8::from_be_bytes)),
        "i2" => d.with_i16_data(&numbers(&bytes, dtype, i16::from_le_bytes, i16::from_be_bytes)),
        "i4" => d.with_i32_data(&numbers(&bytes, dtype, i32::from_le_bytes, i32::from_be_bytes)),
        "i8" => d.with_i64_data(&numbers(&bytes, dtype, i64::from_le_bytes, i64::from_be_bytes)),
        "u1" => d.with_u8_data(&bytes),
        "u2" => d.with_u16_data(&numbers(&bytes, dtype, u16::from_le_bytes, u16::from_be_bytes)),
        "u4" => d.with_u32_data(&numbers(&bytes, dtype, u32::from_le_bytes, u32::from_be_bytes)),
        "u8" => d.with_u64_data(&numbers(&bytes, dtype, u64::from_le_bytes, u64::from_be_bytes)),
        "f4" => d.with_f32_data(&numbers(&bytes, dtype, f32::from_le_bytes, f32::from_be_bytes)),
        "f8" => d.with_f64_data(&numbers(&bytes, dtype, f64::from_le_bytes, f64::from_be_bytes)),
        _ => return Err("skip".into()),
    };
    d.with_shape(&shape);
    builder.write(out).map_err(text)
}

fn main() {
    let peer = std::env::args().nth(1).expect("name of a peer");
    let lock = include_str!("../Cargo.lock");
    // zarrs has an older blusc as a dependency for other targets: the last one is ours.
    let at = lock.rfind(&format!("name = \"{peer}\"\n")).expect("a package in Cargo.lock");
    let version = lock[at..].split('"').nth(3).unwrap();
    std::panic::set_hook(Box::new(|_| {})); // the answer contains the message
    println!("hyperslab.crosscheck.adapter/1\t{peer}\t{version}");
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let f: Vec<&str> = line.split('\t').collect();
        let outcome = catch_unwind(AssertUnwindSafe(|| match f[0] {
            "read" if f[4].contains('@') || f[3] == "hdf5" && f[6] == "0" => Err("skip".into()),
            "read" => read(&peer, f[1], f[3], f[4]).and_then(|(b, form)| std::fs::write(f[2], b).map(|()| form).map_err(text)),
            _ => write(&peer, f[1], f[2], f[3], f[4], f[5], f[7]).map(|()| ""),
        }));
        let answer = match outcome {
            Ok(Ok("")) => "ok".into(),
            Ok(Ok(form)) => format!("ok\t{form}"),
            Ok(Err(e)) if e == "skip" => e,
            Ok(Err(e)) => format!("refused\t{}", e.replace(['\t', '\n'], " ")),
            Err(e) => {
                let m = e.downcast_ref::<String>().cloned().or(e.downcast_ref::<&str>().map(|s| s.to_string()));
                format!("crash\tpanic: {}", m.unwrap_or_default().replace(['\t', '\n'], " "))
            }
        };
        println!("{answer}");
        std::io::stdout().flush().unwrap();
    }
}
