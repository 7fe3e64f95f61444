/** Names to choose from in forms; empty where the gateway does not list its models. */
export function useModelNames(): { readonly models: string[] } {
  return { models: [] };
}
