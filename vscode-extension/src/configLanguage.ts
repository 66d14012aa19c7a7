// Support for gpuemu.toml in the editor: errors from the tool, completion and hover from its schema,
// definitions. The file's language stays `toml`, so that other extensions for TOML keep working.

import * as fs from 'node:fs/promises';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { Json, isObject, parseJson } from './core/json';
import { inlineTableAt, keyUnder, valueKeyAt } from './core/inlineTables';
import { Latest } from './core/latest';
import { kernelsIn } from './core/kernelText';
import { keyAt, keyMarkdown, keysAt } from './core/schema';
import {
  Entry, parseToml, Span, stringsIn, Table, tableAtOffset, tableNamed,
} from './core/toml';
import { Folder } from './folder';
import { Folders } from './folders';
import { ProblemsPanel } from './problemsPanel';
import * as log from './log';
import { messageOf } from './tool';

const SELECTOR: vscode.DocumentSelector = { pattern: '**/gpuemu.toml', scheme: 'file' };
const CHECK_DELAY_MS = 400;
const PATH_KEYS = ['reference', 'source', 'op_script'];

export class ConfigLanguage implements vscode.Disposable, vscode.CompletionItemProvider,
  vscode.HoverProvider, vscode.DefinitionProvider {
  private schema: Promise<Json> | undefined;
  private readonly checks = new Map<string, Latest<vscode.TextDocument>>();
  /** Open documents that could not be checked: the folder was not trusted, or there was no program. */
  private readonly unchecked = new Set<string>();
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly folders: Folders, private readonly problems: ProblemsPanel,
    private readonly extension: vscode.Uri,
  ) {
    const concerns = (document: vscode.TextDocument): void => {
      if (document.uri.scheme === 'file' && path.basename(document.uri.fsPath) === 'gpuemu.toml') this.check(document);
    };
    this.subscriptions = [
      vscode.languages.registerCompletionItemProvider(SELECTOR, this, '[', '"', '.', ' ', '{'),
      vscode.languages.registerHoverProvider(SELECTOR, this),
      vscode.languages.registerDefinitionProvider(SELECTOR, this),
      vscode.workspace.onDidOpenTextDocument(concerns),
      vscode.workspace.onDidSaveTextDocument(concerns),
      vscode.workspace.onDidChangeTextDocument(({ document }) => concerns(document)),
      folders.onDidChangeList(() => vscode.workspace.textDocuments.forEach(concerns)),
      folders.onDidChange(({ folder, what }) => {
        if (what !== 'project') return;
        void this.checkUnopened(folder);
        this.checkAtLast(folder);
      }),
    ];
    vscode.workspace.textDocuments.forEach(concerns);
  }

  private check(document: vscode.TextDocument): void {
    const key = document.uri.toString();
    if (!vscode.workspace.isTrusted) this.unchecked.add(key);
    if (!vscode.workspace.isTrusted || !this.folders.ofConfig(document.uri.fsPath)) return;
    let latest = this.checks.get(key);
    if (!latest) {
      latest = new Latest((one) => this.checkNow(one),
        (error) => log.warn(`${document.uri.fsPath}: ${messageOf(error)}`));
      this.checks.set(key, latest);
    }
    latest.ask(document, CHECK_DELAY_MS);
  }

  /** Checks them once the folder is trusted and there is a program. */
  private checkAtLast(folder: Folder): void {
    if (folder.trouble === 'program' || !vscode.workspace.isTrusted) return;
    const document = vscode.workspace.textDocuments.find(
      (one) => one.uri.toString() === folder.config.toString());
    if (document && this.unchecked.delete(document.uri.toString())) this.check(document);
  }

  /** Shows in Problems what the tool cannot read, even if the file is not open. */
  private async checkUnopened(folder: Folder): Promise<void> {
    const isOpen = vscode.workspace.textDocuments.some(
      (one) => one.uri.toString() === folder.config.toString());
    if (isOpen || folder.trouble === 'program') return;
    if (folder.trouble === undefined && !this.problems.hasConfigProblems(folder)) return;
    await this.problems.checkConfig(folder, folder.configFile, folder.config);
  }

  /** Checks unsaved text as a copy beside the real file, because its relative paths start there. */
  private async checkNow(document: vscode.TextDocument): Promise<void> {
    // The file may have been deleted and created again; then it is another folder.
    const folder = this.folders.ofConfig(document.uri.fsPath);
    if (!folder) return;
    if (!(await folder.tool.find())) {
      this.unchecked.add(document.uri.toString());
      return;
    }
    if (document.isClosed || !document.isDirty) {
      await this.problems.checkConfig(folder, folder.configFile, folder.config);
      return;
    }
    const copy = path.join(folder.root, `.gpuemu-${process.pid}.toml`);
    try {
      await fs.rm(copy, { force: true });  // Left by an editor that was killed.
      await fs.writeFile(copy, document.getText(), { flag: 'wx' });
    } catch (error) {
      log.info(`an unsaved gpuemu.toml is not checked: ${messageOf(error)}`);
      return;
    }
    try {
      await this.problems.checkConfig(folder, copy, folder.config);
    } finally {
      await fs.rm(copy, { force: true });
    }
  }

  /** The schema of the running tool, else that of this extension. */
  private loadSchema(document: vscode.TextDocument): Promise<Json> {
    this.schema ??= this.readSchema(this.folders.ofConfig(document.uri.fsPath));
    return this.schema;
  }

  private async readSchema(folder: Folder | undefined): Promise<Json> {
    try {
      if (folder && await folder.tool.find()) {
        const ended = await folder.tool.run(['config', 'schema']);
        const value = ended.code === 0 ? parseJson(ended.output) : null;
        if (isObject(value) && value['properties']) return value;
      }
    } catch (error) {
      log.info(`the schema of this extension is taken: ${messageOf(error)}`);
    }
    const own = vscode.Uri.joinPath(this.extension, 'schemas', 'gpuemu.schema.json');
    return parseJson(await fs.readFile(own.fsPath, 'utf8'));
  }

  forgetSchema(): void {
    this.schema = undefined;
  }

  async provideCompletionItems(document: vscode.TextDocument, position: vscode.Position):
  Promise<vscode.CompletionItem[]> {
    const schema = await this.loadSchema(document);
    const text = document.getText();
    const before = document.lineAt(position.line).text.slice(0, position.character);
    const tables = parseToml(text);
    const table = tableAtOffset(tables, document.offsetAt(position));
    if (!table || /^\s*#/.test(before)) return [];
    if (/^\s*\[/.test(before)) return this.headerItems(schema);
    const parts = pathOf(table);
    const offset = document.offsetAt(position);
    const entry = entryBefore(table, text, offset);
    const inline = entry && inlineTableAt(text, entry, offset);
    if (inline) {
      const key = valueKeyAt(inline, offset);
      return key?.value
        ? valueItems(schema, [...parts, ...inline.path, key.name], text.slice(key.value.start, offset))
        : keyItems(schema, [...parts, ...inline.path], inline.keys.map((one) => one.name));
    }
    const assignment = /^\s*([\w.-]+)\s*=\s*(.*)$/.exec(before);
    if (!assignment) return keyItems(schema, parts, table.entries.map((one) => one.key));
    const [, key = '', typed = ''] = assignment;
    return key === 'kernel' && table.path === 'ops' ? kernelItems(tables, typed)
      : valueItems(schema, [...parts, ...key.split('.')], typed);
  }

  private headerItems(schema: Json): vscode.CompletionItem[] {
    return keysAt(schema, []).map((key) => {
      const item = new vscode.CompletionItem(key.name, vscode.CompletionItemKind.Module);
      item.documentation = new vscode.MarkdownString(keyMarkdown(key));
      return item;
    });
  }

  async provideHover(document: vscode.TextDocument, position: vscode.Position):
  Promise<vscode.Hover | undefined> {
    const offset = document.offsetAt(position);
    const table = tableAtOffset(parseToml(document.getText()), offset);
    if (!table) return undefined;
    const schema = await this.loadSchema(document);
    const found = keyPlaceAt(document.getText(), table, offset);
    const info = found && keyAt(schema, found.path);
    if (!info) return undefined;
    const { span } = found;
    return new vscode.Hover(new vscode.MarkdownString(keyMarkdown(info)), new vscode.Range(
      document.positionAt(span.start), document.positionAt(span.end)));
  }

  async provideDefinition(document: vscode.TextDocument, position: vscode.Position):
  Promise<vscode.Location | undefined> {
    const text = document.getText();
    const offset = document.offsetAt(position);
    const tables = parseToml(text);
    const table = tableAtOffset(tables, offset);
    const entry = table && entryAround(table, offset);
    const string = entry && stringsIn(entry).find((one) =>
      one.span.start <= offset && offset <= one.span.end);
    if (!table || !entry || !string) return undefined;
    const folder = path.dirname(document.uri.fsPath);
    if (PATH_KEYS.includes(entry.key)) {
      const file = vscode.Uri.file(path.resolve(folder, string.text));
      return new vscode.Location(file, new vscode.Position(0, 0));
    }
    if (entry.key === 'kernel') {
      const kernel = tableNamed(tables, 'kernels', string.text);
      return kernel && new vscode.Location(
        document.uri, document.positionAt(kernel.headerSpan.start));
    }
    const source = table.entries.find((one) => one.key === 'source');
    if (entry.key !== 'launches' || !source) return undefined;
    const file = path.resolve(folder, stringsIn(source)[0]?.text ?? '');
    return entryDefinition(file, string.text.replace(/<.*$/, ''));
  }

  dispose(): void {
    for (const one of this.checks.values()) one.dispose();
    for (const one of this.subscriptions) one.dispose();
  }
}

const pathOf = (table: Table): string[] => (table.path === '' ? [] : table.path.split('.'));

const entryAround = (table: Table, offset: number): Entry | undefined => table.entries.find(
  (one) => one.valueSpan.start <= offset && offset <= one.valueSpan.end);

/** The entry that is being written; blanks after its value belong to it. */
function entryBefore(table: Table, text: string, offset: number): Entry | undefined {
  const entry = table.entries.findLast((one) => one.valueSpan.start <= offset);
  if (!entry || offset <= entry.valueSpan.end) return entry;
  const { start, end } = entry.valueSpan;
  return text.slice(end, offset).trim() === '' ? { ...entry, valueSpan: { start, end: offset } }
    : undefined;
}

/** The key or the header at `offset`, with its path in the schema. */
function keyPlaceAt(text: string, table: Table, offset: number):
{ path: string[]; span: Span } | undefined {
  const parts = pathOf(table);
  const isIn = (span: Span): boolean => span.start <= offset && offset <= span.end;
  if (isIn(table.headerSpan) && parts.length > 0) return { path: parts, span: table.headerSpan };
  const entry = table.entries.find((one) => isIn(one.keySpan));
  if (entry) return { path: [...parts, ...entry.key.split('.')], span: entry.keySpan };
  const around = entryAround(table, offset);
  const inline = around && inlineTableAt(text, around, offset);
  const key = inline && keyUnder(inline, offset);
  return key && { path: [...parts, ...inline.path, key.name], span: key.span };
}

function keyItems(schema: Json, path: string[], present: string[]): vscode.CompletionItem[] {
  return keysAt(schema, path)
    .filter((key) => !present.includes(key.name) && !key.deprecated)
    .map((key) => {
      const item = new vscode.CompletionItem(key.name, vscode.CompletionItemKind.Property);
      item.documentation = new vscode.MarkdownString(keyMarkdown(key));
      item.detail = key.type;
      item.insertText = new vscode.SnippetString(`${key.name} = ${placeholder(key.type)}`);
      return item;
    });
}

/** `typed` is the part of the value typed so far. */
function valueItem(value: string, typed: string, kind: vscode.CompletionItemKind):
vscode.CompletionItem {
  const inQuotes = (typed.match(/"/g)?.length ?? 0) % 2 === 1;
  const plain = value.replace(/^"|"$/g, '');
  const item = new vscode.CompletionItem(plain, kind);
  item.insertText = inQuotes ? plain : value;
  return item;
}

function valueItems(schema: Json, path: string[], typed: string): vscode.CompletionItem[] {
  const info = keyAt(schema, path);
  const values = info?.type.includes('boolean') ? ['true', 'false'] : info?.values ?? [];
  return values.map((value) => valueItem(value, typed, vscode.CompletionItemKind.EnumMember));
}

const kernelItems = (tables: Table[], typed: string): vscode.CompletionItem[] =>
  tables.filter((one) => one.path === 'kernels' && one.isArray)
    .map((one) => one.entries.find((entry) => entry.key === 'name')?.value ?? '')
    .filter((name) => name !== '')
    .map((name) => valueItem(name, typed, vscode.CompletionItemKind.Reference));

function placeholder(type: string): string {
  if (type.startsWith('string')) return '"$1"';
  if (type.startsWith('array')) return '[$1]';
  if (type.startsWith('object')) return '{ $1 }';
  return '$1';
}

/** The source line that declares the entry. */
async function entryDefinition(file: string, name: string): Promise<vscode.Location | undefined> {
  const document = await vscode.workspace.openTextDocument(vscode.Uri.file(file));
  const kernel = kernelsIn(file, document.getText()).find((one) => one.name === name);
  return kernel && new vscode.Location(
    document.uri, new vscode.Position(kernel.line, kernel.column));
}
