"""Number formats that numpy lacks, as bits in and values out. Values are float32 throughout."""
import numpy as np

# Storage types as launch contracts name them, and what numpy holds their bits in.
STORAGE = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": np.uint16, "e4m3": np.uint8,
           "e5m2": np.uint8, "ue8m0": np.uint8, "e2m1": np.uint8, "s32": np.int32, "u32": np.uint32, "s8": np.int8,
           "u8": np.uint8, "s64": np.int64, "u64": np.uint64}


def _small_floats(exponent_bits, mantissa_bits, bias, infinities):
    """Every value of a format of up to 8 bits, by its bits; 'infinities' is e5m2's top exponent."""
    bits = np.arange(1 << (1 + exponent_bits + mantissa_bits))
    sign = np.where(bits >> (exponent_bits + mantissa_bits), -1.0, 1.0)
    exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1)
    fraction = (bits & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    values = sign * np.where(exponent == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (exponent - bias))
    if infinities:
        values = np.where(exponent == (1 << exponent_bits) - 1, np.where(fraction == 0, sign * np.inf, np.nan), values)
    elif exponent_bits == 4:
        values = np.where((bits & 0x7F) == 0x7F, np.nan, values)
    return values.astype(np.float32)


TABLES = {"e4m3": _small_floats(4, 3, 7, False), "e5m2": _small_floats(5, 2, 15, True),
          "e2m1": _small_floats(2, 1, 1, False), "ue8m0": np.append(2.0 ** (np.arange(255.0) - 127), np.nan).astype(np.float32)}


def decode(bits, dtype):
    """Values of an array of bits; e2m1 has two elements to a byte, the even one low."""
    if dtype == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32)
    if dtype == "e2m1":
        pairs = np.stack([bits & 15, bits >> 4], axis=-1)
        return TABLES["e2m1"][pairs.reshape(*bits.shape[:-1], -1)]
    if dtype in TABLES:
        return TABLES[dtype][bits]
    return bits


def encode(values, dtype):
    """Bits of values, rounded to nearest even."""
    if dtype == "bf16":
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.uint64)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    if dtype in ("e4m3", "e5m2"):
        half = TABLES[dtype][:128]
        finite = half[np.isfinite(half)]
        above = np.clip(np.searchsorted(finite, np.abs(values)), 1, len(finite) - 1)
        low, high = finite[above - 1], finite[above]
        middle = (low + high) / 2
        up = (np.abs(values) > middle) | ((np.abs(values) == middle) & (above % 2 == 0))
        return (above - 1 + up + np.where(np.asarray(values) < 0, 128, 0)).astype(np.uint8)
    return np.ascontiguousarray(values).astype(STORAGE[dtype])
