// Reads tensors of the protocol: packed little-endian elements in base64.

import { Json, JsonObject, isObject, listAt, textAt } from './json';

export interface Tensor {
  name: string;
  dtype: string;
  shape: number[];
  values: number[];
  /** True if the tensor has more elements than `values`. */
  cut: boolean;
}

export const ELEMENTS_MAX = 4096;

function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0x1f) return fraction ? NaN : sign * Infinity;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

type Read = (bytes: DataView, at: number) => number;
const READERS: Record<string, [number, Read]> = {
  float64: [8, (bytes, at) => bytes.getFloat64(at, true)],
  float32: [4, (bytes, at) => bytes.getFloat32(at, true)],
  float16: [2, (bytes, at) => half(bytes.getUint16(at, true))],
  bfloat16: [2, (bytes, at) => {
    const wide = new DataView(new ArrayBuffer(4));
    wide.setUint32(0, bytes.getUint16(at, true) * 65536);
    return wide.getFloat32(0);
  }],
  int64: [8, (bytes, at) => Number(bytes.getBigInt64(at, true))],
  uint64: [8, (bytes, at) => Number(bytes.getBigUint64(at, true))],
  int32: [4, (bytes, at) => bytes.getInt32(at, true)],
  uint32: [4, (bytes, at) => bytes.getUint32(at, true)],
  int16: [2, (bytes, at) => bytes.getInt16(at, true)],
  uint16: [2, (bytes, at) => bytes.getUint16(at, true)],
  int8: [1, (bytes, at) => bytes.getInt8(at)],
  uint8: [1, (bytes, at) => bytes.getUint8(at)],
  bool: [1, (bytes, at) => bytes.getUint8(at)],
};

/** The first elements of a tensor; undefined if the value is no tensor. */
export function readTensor(name: string, value: Json): Tensor | undefined {
  const dtype = textAt(value, 'dtype') ?? '';
  const reader = READERS[dtype];
  const data = textAt(value, 'data');
  if (!reader || data === undefined) return undefined;
  const [size, read] = reader;
  // Four characters are three bytes; only what is shown is decoded.
  const wanted = Math.ceil((ELEMENTS_MAX + 1) * size / 3) * 4;
  const bytes = Buffer.from(data.slice(0, wanted), 'base64');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const count = Math.floor(bytes.byteLength / size);
  const values: number[] = [];
  for (let i = 0; i < Math.min(count, ELEMENTS_MAX); ++i) values.push(read(view, i * size));
  const shape = listAt(value, 'shape').filter((one): one is number => typeof one === 'number');
  return { name, dtype, shape, values, cut: count > ELEMENTS_MAX || data.length > wanted };
}

export function readTensors(value: JsonObject | undefined): Tensor[] {
  return Object.entries(value ?? {}).map(([name, one]) =>
    isObject(one) ? readTensor(name, one) : undefined)
    .filter((one): one is Tensor => one !== undefined);
}

/** A value with the fewest digits that identify it in its dtype. */
export function elementText(value: number, dtype: string): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  const digits: Record<string, number> = { float16: 5, bfloat16: 4, float32: 9 };
  const wanted = digits[dtype];
  if (wanted === undefined) return String(value);
  return String(Number(value.toPrecision(wanted)));
}
