// Reads JSON of the command line tool without losing digits: integers that a double cannot hold (seeds have
// 64 bits) become strings. Members that are missing or have another type read as undefined.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** Throws SyntaxError for invalid JSON. */
export function parseJson(text: string): Json {
  return JSON.parse(quoteLongIntegers(text)) as Json;
}

/** Quotes integers of 16 digits and more outside strings. */
function quoteLongIntegers(text: string): string {
  if (!/\d{16}/.test(text)) return text;
  const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  return text.replace(token, (found) => (/^-?\d{16,}$/.test(found) ? `"${found}"` : found));
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function objectAt(value: Json | undefined, key: string): JsonObject | undefined {
  const found = isObject(value) ? value[key] : undefined;
  return isObject(found) ? found : undefined;
}

export function textAt(value: Json | undefined, key: string): string | undefined {
  const found = isObject(value) ? value[key] : undefined;
  return typeof found === 'string' ? found : undefined;
}

export function numberAt(value: Json | undefined, key: string): number | undefined {
  const found = isObject(value) ? value[key] : undefined;
  if (typeof found === 'number') return found;
  return typeof found === 'string' && /^-?\d+$/.test(found) ? Number(found) : undefined;
}

export function flagAt(value: Json | undefined, key: string): boolean | undefined {
  const found = isObject(value) ? value[key] : undefined;
  return typeof found === 'boolean' ? found : undefined;
}

export function listAt(value: Json | undefined, key: string): Json[] {
  const found = isObject(value) ? value[key] : undefined;
  return Array.isArray(found) ? found : [];
}

export function textsAt(value: Json | undefined, key: string): string[] {
  return listAt(value, key).filter((one): one is string => typeof one === 'string');
}

/** A seed as text: from the member with the suffix `_text` if the tool sends it. */
export function seedAt(value: Json | undefined, key: string): string | undefined {
  const text = textAt(value, `${key}_text`) ?? textAt(value, key);
  if (text !== undefined) return text;
  const number = numberAt(value, key);
  return number === undefined ? undefined : String(number);
}
