/** The word by which the policy of the page knows our own styles; the server writes a new one into every page. */
export function nonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';
}
