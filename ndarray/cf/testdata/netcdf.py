"""Values and dates by netCDF4-python and cftime.

netcdf.py write FILE STEP writes variables of all types with all forms of packing and of missing
values, and times in all calendars and units; with STEP n, each n-th variable. netcdf.py read FILE...
prints the values and the dates of the numeric variables of the files as JSON.
"""
import itertools
import json
import random
import sys
import warnings

import cftime
import h5py
import netCDF4
import numpy as np

warnings.simplefilter("ignore")
LARGEST = 200000  # elements of a variable


def packings(kind):
    """Forms of packing: attributes."""
    t = np.dtype(kind).type
    yield {}
    for one, two in itertools.product((np.float32, np.float64), repeat=2):
        yield {"scale_factor": one(0.01), "add_offset": two(273.15)}
    yield {"scale_factor": np.float32(1 / 3)}
    yield {"scale_factor": np.float64(-2.5)}
    yield {"add_offset": np.float32(0.1)}
    yield {"add_offset": np.float64(1e-3)}
    yield {"scale_factor": np.float64(1), "add_offset": np.float64(0)}
    yield {"scale_factor": np.float32(1)}
    yield {"scale_factor": np.int8(2)}
    yield {"scale_factor": t(1), "add_offset": t(5)}
    yield {"scale_factor": np.array([2.0])}
    yield {"scale_factor": np.array([2.0, 3.0])}
    yield {"scale_factor": "2", "add_offset": 1.0}
    yield {"add_offset": "zero", "scale_factor": 2.0}
    if kind[0] == "i":
        yield {"_Unsigned": "true"}
        yield {"_Unsigned": "True", "scale_factor": np.float64(0.5)}
        yield {"_Unsigned": "yes"}
        yield {"_Unsigned": "true", "add_offset": np.int8(1)}


def missings(kind):
    """Forms of missing values: the fill value, and attributes."""
    t = np.dtype(kind).type
    yield None, {}
    yield False, {}
    yield t(7), {}
    yield None, {"missing_value": t(3)}
    yield False, {"missing_value": np.array([3, 5], kind)}
    yield t(7), {"missing_value": np.float64(3), "valid_range": np.array([2, 90], kind)}
    yield False, {"missing_value": np.float64(2.7)}
    yield False, {"missing_value": np.array([3.0, 1e300])}
    yield None, {"missing_value": "3"}
    yield False, {"valid_min": t(4)}
    yield False, {"valid_max": t(100)}
    yield False, {"valid_min": np.float64(4), "valid_max": np.float64(100)}
    yield False, {"valid_min": np.float64(3.3)}
    yield False, {"valid_min": t(100), "valid_max": t(4)}
    yield False, {"valid_range": np.array([4, 100], kind), "valid_max": t(7)}
    yield False, {"valid_range": np.array([4, 100, 101], kind)}
    yield False, {"valid_range": "4 100"}
    yield t(7), {"valid_min": np.int64(4)}
    if kind[0] == "f":
        yield t(np.nan), {"missing_value": np.float64(1e20)}
        yield False, {"missing_value": np.float64(np.nan), "valid_max": t(np.inf)}
    if kind[0] == "i":
        yield t(-1), {"missing_value": t(-2), "valid_max": t(-3)}


def elements(kind):
    if kind[0] == "f":
        return np.array([0, 3, 4, 5, 7, 100, 101, -1, np.nan, np.inf, -0.0, 1e20, 0.1, netCDF4.default_fillvals[kind]], kind)
    info = np.iinfo(kind)
    some = [0, 3, 4, 5, 7, 100, 101, 1, 2, 90, info.max, info.max - 1, info.min, info.min + 1]
    some += [-1, -2, -3] if kind[0] == "i" else []
    some += [2**53 + 1, 2**62 + 1] if kind[1] == "8" else []
    return np.array(some + [netCDF4.default_fillvals[kind]], kind)


def number(f, name, kind, data, fill, attrs):
    dimension = "n%d" % len(data)
    if dimension not in f.dimensions:
        f.createDimension(dimension, len(data))
    v = f.createVariable(name, kind, (dimension,), fill_value=fill)
    v.set_auto_maskandscale(False)
    v.setncatts(attrs)
    v[:] = data


def times(f):
    """Yields functions that write times in all calendars and units."""
    units = "microseconds milliseconds seconds minutes hours days months common_years".split()
    references = {
        "standard": "1582-10-04 12:00", "gregorian": "1970-01-01", "proleptic_gregorian": "1582-10-10 00:00:00 +05:30", "julian": "1900-02-29",
        "noleap": "2000-03-01 18:00:00.5", "365_day": "0001-01-01", "all_leap": "1999-02-29", "366_day": "2001-12-31", "360_day": "2000-02-30", "tai": "1958-01-01", None: "2000-01-01T06:00:00Z",
    }
    rnd = random.Random(11)
    for (calendar, start), unit, kind in itertools.product(references.items(), units, ("i4", "i8", "f4", "f8")):
        if unit == "months" and calendar != "360_day" or unit == "common_years" and calendar not in ("noleap", "365_day"):
            continue
        attrs = {"units": unit + " since " + start}
        if calendar:
            attrs["calendar"] = calendar
        size = dict(microseconds=1e-6, milliseconds=1e-3, seconds=1, minutes=60, hours=3600, days=86400, months=30 * 86400, common_years=365 * 86400)[unit]
        most = min(300 * 365 * 86400 / size, 2**31 - 1 if kind == "i4" else 1e15)
        least = 0 if calendar == "tai" else -most
        data = [0, 1, 2, 59, 365] + [rnd.uniform(least, most) for _ in range(8)]
        fill = None if kind[0] == "i" else rnd.choice([None, -9999.0])
        yield lambda name, kind=kind, data=data, fill=fill, attrs=attrs: number(f, name, kind, np.array(data).astype(kind), fill, attrs)


def write(path, step):
    with netCDF4.Dataset(path, "w") as f:
        jobs = []
        for kind in "i1 u1 i2 u2 i4 u4 i8 u8 f4 f8".split():
            for packing, (fill, missing) in itertools.product(packings(kind), missings(kind)):
                jobs.append(lambda name, kind=kind, fill=fill, attrs={**packing, **missing}: number(f, name, kind, elements(kind), fill, attrs))
        jobs += times(f)
        random.Random(5).shuffle(jobs)
        for i, job in enumerate(jobs[::step]):
            job("v%d" % i)


def text(x):
    return float(x).hex() if isinstance(x, (float, np.floating)) else str(int(x))


def scaled_exactly(v, got):
    """Integers in place of floats or of wrapped integers, or None if netCDF4 rounds before it converts."""
    attrs = {k: v.getncattr(k) for k in v.ncattrs()}
    scale, offset = attrs.get("scale_factor"), attrs.get("add_offset")
    if v.dtype.kind == "f" or scale is None and offset is None or any(isinstance(x, str) or np.size(x) != 1 for x in (scale, offset) if x is not None):
        return got
    scale, offset = [np.asarray(d if x is None else x).reshape(()) for x, d in ((scale, np.int8(1)), (offset, np.int8(0)))]
    v.set_auto_maskandscale(False)
    stored = v[...]
    v.set_auto_maskandscale(True)
    if str(attrs.get("_Unsigned", "")).lower() == "true" and v.dtype.kind == "i":
        stored = stored.view("u%d" % v.dtype.itemsize)
    if scale == 1 and offset == 0:  # netCDF4 casts to the type of scale_factor
        return np.ma.array(stored, mask=np.ma.getmaskarray(got))
    if got.dtype.kind in "iu":
        exact = [int(x) * int(scale) + int(offset) for x in stored.flat]
        if any(n != int(x) for n, x, m in zip(exact, got.data.flat, np.ma.getmaskarray(got).flat) if not m):
            return None
    elif scale.dtype.kind in "iu" and "scale_factor" in attrs:
        product = stored * scale
        if product.dtype.kind in "iu" and any(int(a) * int(scale) != int(b) for a, b in zip(stored.flat, product.flat)):
            return None
    return got


def dates(v, got):
    units = getattr(v, "units", None)
    if not isinstance(units, str) or " since " not in units:
        return None
    calendar = getattr(v, "calendar", "standard")
    out = []
    for x, missing in zip(got.data.flat, np.ma.getmaskarray(got).flat):
        if missing or isinstance(x, np.floating) and not np.isfinite(x):
            out.append(None)
            continue
        try:
            out.append(cftime.num2date(np.array([x]), units, calendar)[0].isoformat(timespec="microseconds"))
        except (ValueError, OverflowError):
            out.append("error")
    return out


def undefined(path, name):
    """Reports whether elements have no value, for which netCDF4 returns old bytes of memory."""
    with h5py.File(path) as h:
        d = h.get(name)
        return isinstance(d, h5py.Dataset) and d.id.get_create_plist().get_fill_time() == h5py.h5d.FILL_TIME_NEVER and d.id.get_storage_size() == 0


def read(paths):
    out = []
    for path in paths:
        try:
            f = netCDF4.Dataset(path)
        except OSError:
            continue
        groups = [f]
        for g in groups:
            groups += g.groups.values()
            for v in g.variables.values():
                if isinstance(v.dtype, type) or v.dtype.kind not in "iuf" or not isinstance(v.datatype, np.dtype) or v.size > LARGEST:
                    continue
                if undefined(path, g.path.rstrip("/") + "/" + v.name):
                    continue
                try:
                    got = np.ma.asarray(v[...])
                except Exception:  # a filter that is missing, or attributes that netCDF4 cannot use
                    continue
                got = scaled_exactly(v, got)
                if got is None:
                    continue
                values = [None if m else text(x) for x, m in zip(got.data.flat, np.ma.getmaskarray(got).flat)]
                out.append(dict(file=path, path=g.path.rstrip("/") + "/" + v.name, shape=list(v.shape), dtype=got.dtype.newbyteorder("<").str, values=values, dates=dates(v, got)))
        f.close()
    json.dump(out, sys.stdout)


if sys.argv[1] == "write":
    write(sys.argv[2], int(sys.argv[3]))
else:
    read(sys.argv[2:])
