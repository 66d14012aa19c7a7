// Looks up the keys of a table and their meaning in the JSON Schema of gpuemu.toml, by the table's path.

import { isObject, Json, JsonObject, listAt, textAt } from './json';

export interface KeyInfo {
  name: string;
  description: string;
  type: string;
  defaultValue?: string;
  values: string[];
  deprecated: boolean;
}

function resolved(root: Json, node: Json | undefined, depth = 0): JsonObject | undefined {
  if (!isObject(node) || depth > 16) return undefined;
  const ref = textAt(node, '$ref');
  if (ref?.startsWith('#/')) {
    let at: Json | undefined = root;
    for (const part of ref.slice(2).split('/')) at = isObject(at) ? at[part] : undefined;
    const target = resolved(root, at, depth + 1);
    return target && { ...target, ...node, $ref: undefined as unknown as Json };
  }
  return node;
}

/** The node itself and every branch of its anyOf, oneOf and allOf. */
function branches(root: Json, node: Json | undefined): JsonObject[] {
  const self = resolved(root, node);
  if (!self) return [];
  const choices = [...listAt(self, 'anyOf'), ...listAt(self, 'oneOf'), ...listAt(self, 'allOf')];
  return [self, ...choices.flatMap((one) => branches(root, one))];
}

function step(root: Json, nodes: JsonObject[], key: string): JsonObject[] {
  return nodes.flatMap((node) => {
    const properties = node['properties'];
    const named = isObject(properties) ? properties[key] : undefined;
    const more = node['additionalProperties'];
    return branches(root, named ?? (isObject(more) ? more : undefined));
  });
}

/** Replaces lists by their elements: `ops` means one of the ops. */
function elements(root: Json, nodes: JsonObject[]): JsonObject[] {
  return [...nodes, ...nodes.flatMap((node) => branches(root, node['items']))];
}

function nodesAt(root: Json, path: string[]): JsonObject[] {
  let nodes = branches(root, root);
  for (const part of path) nodes = elements(root, step(root, nodes, part));
  return nodes;
}

function infoOf(name: string, nodes: JsonObject[]): KeyInfo {
  const first = (key: string): string | undefined =>
    nodes.map((node) => textAt(node, key)).find((one) => one !== undefined && one !== '');
  const types = nodes.flatMap((node) => {
    const type = node['type'];
    return typeof type === 'string' ? [type] : listAt(node, 'type').filter(
      (one): one is string => typeof one === 'string');
  });
  const value = nodes.map((node) => node['default']).find((one) => one !== undefined);
  const values = nodes.flatMap((node) => [
    ...listAt(node, 'enum'), ...(node['const'] === undefined ? [] : [node['const']]),
    ...(isObject(node['items']) ? listAt(node['items'], 'enum') : []),
  ]).map((one) => JSON.stringify(one));
  return {
    name, description: first('description') ?? '', type: [...new Set(types)].join(' or '),
    defaultValue: value === undefined || value === null ? undefined : JSON.stringify(value),
    values: [...new Set(values)],
    deprecated: nodes.some((node) => node['deprecated'] === true),
  };
}

/** The keys of a table: `[]` for the file, `["ops"]` for `[[ops]]`. */
export function keysAt(root: Json, path: string[]): KeyInfo[] {
  const found = new Map<string, KeyInfo>();
  for (const node of nodesAt(root, path)) {
    for (const name of Object.keys(isObject(node['properties']) ? node['properties'] : {})) {
      if (!found.has(name)) found.set(name, infoOf(name, nodesAt(root, [...path, name])));
    }
  }
  return [...found.values()];
}

export function keyAt(root: Json, path: string[]): KeyInfo | undefined {
  const nodes = nodesAt(root, path);
  return nodes.length === 0 ? undefined : infoOf(path.at(-1) ?? '', nodes);
}

export function keyMarkdown(key: KeyInfo): string {
  const lines = [`**${key.name}**${key.type === '' ? '' : `: ${key.type}`}`];
  if (key.description !== '') lines.push(key.description);
  if (key.values.length > 0) lines.push(`One of ${key.values.map((one) => `\`${one}\``).join(', ')}.`);
  if (key.defaultValue !== undefined) lines.push(`Default: \`${key.defaultValue}\``);
  return lines.join('\n\n');
}
