"""A scripted model server: the OpenAI chat-completions protocol over real HTTP, as a process of its own.

    from tests.model_server.running import running_model_server

    with running_model_server({"faults": [{"kind": "rate_limit", "turns": [3], "attempts": 1}]}) as server:
        ...  # server.api_base, any key, model "policy-heuristic_roaster"; then server.log(), server.stats()

The name of a model says what it plays: `policy-<script>`, `policy-heuristic` (the script of the firm's role) or
`policy-random`; `policies` reads it. What goes wrong and when is `config`. An answer is a function of the request and
the faults alone, so whoever asks again is answered the same.

So two runs that are alike to the byte count as one that asks everything twice; a parameter that is in no other
model's name, as in `policy-heuristic?run=2`, keeps them apart.
"""
