/** What other gateways have: a configuration of LiteLLM, and the rows of a One API database. */
export const LITELLM = `
model_list:
  - model_name: gpt-4o
    litellm_params: { model: openai/gpt-4o, api_key: os.environ/OPENAI_API_KEY, rpm: 480 }
  - model_name: gpt-4o
    litellm_params: { model: azure/my-deployment, api_base: https://eu.openai.azure.com/, api_key: sk-literal, api_version: "2024-10-21" }
    model_info: { input_cost_per_token: 0.0000025, output_cost_per_token: 0.00001, max_output_tokens: 16384 }
  - model_name: sonnet
    litellm_params: { model: anthropic/claude-sonnet-4-5, api_key: os.environ/ANTHROPIC_API_KEY }
  - model_name: local
    litellm_params: { model: hosted_vllm/qwen, api_base: "http://10.0.0.5:8000/v1", input_cost_per_token: 0, output_cost_per_token: 0 }
  - model_name: titan
    litellm_params: { model: bedrock/amazon.titan }
  - model_name: "openai/*"
    litellm_params: { model: "openai/*" }
  - model_name: ada
    litellm_params: { model: openai/text-embedding-3-small }
    model_info: { mode: embedding }
  - model_name: unknown
    litellm_params: { model: openai/a-model-of-tomorrow, api_key: os.environ/OPENAI_API_KEY }
router_settings: { routing_strategy: least-busy, fallbacks: [{ sonnet: [gpt-4o] }, { gpt-4o: [titan] }] }
general_settings: { master_key: sk-master-1234 }
`;

export const CHANNELS = [
  {
    id: 1,
    type: 1,
    key: 'sk-one',
    status: 1,
    name: 'main',
    base_url: '',
    models: 'gpt-4o,gpt-4o-mini',
    group: 'default',
    model_mapping: '',
    priority: 0,
  },
  {
    id: 2,
    type: 14,
    key: 'sk-a\nsk-b',
    status: 1,
    name: 'claude',
    base_url: null,
    models: 'claude-sonnet-4-5',
    group: 'vip',
    model_mapping: '{}',
    priority: 5,
  },
  {
    id: 3,
    type: 1,
    key: 'sk-two',
    status: 1,
    name: 'proxy',
    base_url: 'https://api.openai.com',
    models: 'gpt-4o',
    group: 'default',
    model_mapping: '{"gpt-4o":"gpt-4o-2024-08-06"}',
    priority: 0,
  },
  {
    id: 4,
    type: 18,
    key: 'x',
    status: 1,
    name: 'xunfei',
    base_url: '',
    models: 'spark',
    group: 'default',
    priority: 0,
  },
  { id: 5, type: 1, key: 'x', status: 2, name: 'off', base_url: '', models: 'gpt-4', group: 'default', priority: 0 },
];
export const TOKENS = [
  {
    id: 1,
    user_id: 3,
    key: 'secret-token',
    status: 1,
    name: 'app',
    expired_time: -1,
    remain_quota: 750_000,
    unlimited_quota: 0,
    models: 'gpt-4o',
  },
  {
    id: 2,
    user_id: 3,
    key: 'secret-token-2',
    status: 1,
    name: 'all',
    expired_time: 1_900_000_000,
    remain_quota: 0,
    unlimited_quota: 1,
  },
  { id: 3, user_id: 3, key: 'x', status: 2, name: 'off', expired_time: -1, remain_quota: 1, unlimited_quota: 0 },
];
export const USERS = [{ id: 3, username: 'bob', display_name: 'Bob', quota: 1_250_000 }];
