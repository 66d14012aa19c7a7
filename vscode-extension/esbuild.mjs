// Bundles the extension into dist/extension.js; with --tests also the unit tests and the suite that runs in the editor.
import * as esbuild from 'esbuild';
import * as fs from 'node:fs';
import * as path from 'node:path';

const tests = process.argv.includes('--tests');
const common = { bundle: true, platform: 'node', target: 'node20', format: 'cjs', logLevel: 'warning' };

fs.rmSync('dist', { recursive: true, force: true });
await esbuild.build({
  ...common, entryPoints: ['src/extension.ts'], outfile: 'dist/extension.js',
  external: ['vscode'], minify: !tests, sourcemap: tests ? 'inline' : false,
});
// What a finding means is told by the same page as on the command line.
fs.copyFileSync('../docs/reference/findings.md', 'dist/findings.md');
if (tests) {
  const below = (folder) => fs.existsSync(folder)
    ? fs.readdirSync(folder).filter((name) => name.endsWith('.ts')).map((name) => path.join(folder, name)) : [];
  await esbuild.build({
    ...common, entryPoints: [...below('test/unit'), ...below('test/host')], outdir: 'dist/test', outbase: 'test',
    external: ['vscode', 'mocha'], sourcemap: 'inline',
  });
}
