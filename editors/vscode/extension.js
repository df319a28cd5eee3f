// Starts `herbrand lsp` for .hb files and shows what it answers. Needs: pip install 'herbrand[lsp]'.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = async function activate() {
  const [command, ...args] = workspace.getConfiguration("herbrand").get("command");
  client = new LanguageClient(
    "herbrand",
    "Herbrand",
    { command, args },
    { documentSelector: [{ language: "herbrand" }] },
  );
  await client.start();
};

exports.deactivate = function deactivate() {
  return client?.stop();
};
