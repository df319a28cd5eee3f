// Builds the client of `herbrand studio` into the Python package. The same sources give the same bytes:
// names come from contents, and nothing of the machine or the hour goes in.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** NOTICES.txt: every package whose code is in the bundle, with its licence's text. */
function notices() {
  const packages = new Set();
  return {
    name: "notices",
    generateBundle(_, bundle) {
      for (const chunk of Object.values(bundle)) {
        for (const id of Object.keys(chunk.modules ?? {})) {
          const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id);
          if (match) packages.add(match[1]);
        }
      }
      const parts = [...packages].sort().map((name) => {
        const folder = here(`node_modules/${name}/`);
        const { version, license } = JSON.parse(readFileSync(`${folder}package.json`, "utf8"));
        const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
        if (!file) throw new Error(`${name} has no licence file`);
        return `${name} ${version} (${license})\n\n${readFileSync(folder + file, "utf8").trim()}\n`;
      });
      const head = "The studio's pages contain code of these packages.\n";
      this.emitFile({
        type: "asset",
        fileName: "NOTICES.txt",
        source: [head, ...parts].join(`\n${"-".repeat(80)}\n\n`),
      });
    },
  };
}

/** SOURCES.txt: a hash of what the bundle is made of, so that a test without Node sees a bundle left behind. */
function sources() {
  const files = readdirSync(here("."), { recursive: true })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => /^(src|public)\/.*\.|^(index\.html|package-lock\.json|tsconfig\.json|vite\.config\.mjs)$/.test(name))
    .sort();
  const hash = createHash("sha256");
  for (const name of files) hash.update(`${name}\n`).update(readFileSync(here(name)));
  return {
    name: "sources",
    generateBundle() {
      this.emitFile({ type: "asset", fileName: "SOURCES.txt", source: `${hash.digest("hex")}\n` });
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [notices(), sources()],
  resolve: { alias: { "style-mod": here("src/write/adopted_styles.ts") } },
  build: {
    outDir: here("../src/herbrand/serving/studio"),
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    assetsInlineLimit: 0,
  },
});
