// Starts 'petra lsp' for YAML files; which of them are playbooks is for the server to see.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const command = workspace.getConfiguration("petra").get("command", "petra");
  const server = { command, args: ["lsp"] };
  const options = { documentSelector: [{ language: "yaml" }] };
  client = new LanguageClient("petra", "Petra", server, options);
  return client.start();
};

exports.deactivate = () => client?.stop();
