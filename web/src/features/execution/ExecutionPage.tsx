export function Page() {
  return <h1>Execution</h1>;
}
