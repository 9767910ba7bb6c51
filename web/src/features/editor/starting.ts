/** What a new playbook begins with: something small that is sound, and does something. */

const PLAIN = /^[a-z][\w-]*$/i;

export function startingText(path: string): string {
  const name = path.split('/').at(-1) ?? '';
  const named = (word: string) => (PLAIN.test(word) ? word : JSON.stringify(word));
  const metadata = name === path ? named(name) : `${named(name)}, path: ${JSON.stringify(path)}`;
  return `apiVersion: petra/v1
kind: Playbook
metadata: {name: ${metadata}}
workload: {who: world}
executor:
  spec:
    output: "{{ greet }}"
workflow:
  - step: greet
    tool:
      kind: python
      args: {who: "{{ workload.who }}"}
      code: |
        def main(who):
            return f"Hello, {who}!"
`;
}
