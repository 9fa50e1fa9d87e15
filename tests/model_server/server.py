"""The server itself: reads a request, decides, goes wrong where it was told to, and keeps count."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from dataclasses import dataclass, field

from aiohttp import web
from pydantic import ValidationError

from simulation.engine.decision import WAIT, Decision
from simulation.engine.scenario import scenario_from
from tests.model_server import answers
from tests.model_server.answers import HttpError, Usage
from tests.model_server.bookkeeping import Bookkeeping, Entry
from tests.model_server.config import Asked, Config, Fault
from tests.model_server.conversation import Conversation, read_conversation
from tests.model_server.policies import CannotRebuild, Policies, Policy, call_id_of, policy_of

LARGEST_REQUEST_BYTES = 64 * 2**20
DRIP_PIECES = 20


@dataclass(slots=True)
class Reply:
    """What goes out, after a delay. `manner` is the fault of the way there, if any."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    delay_seconds: float = 0.0
    manner: str = ""
    share: float = 1.0
    drip_seconds: float = 0.0


class ModelServer:
    """All that the handlers share."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.policies = Policies(scenario_from(config.scenario))
        self.books = Bookkeeping()
        self.let_go = asyncio.Event()

    def application(self) -> web.Application:
        """The addresses: a base with and without `/v1`, as clients differ; and those for tests."""
        application = web.Application(client_max_size=LARGEST_REQUEST_BYTES)
        application.add_routes(
            [
                web.post("/v1/chat/completions", self.complete),
                web.post("/chat/completions", self.complete),
                web.get("/log", self.show_log),
                web.get("/stats", self.show_stats),
                web.post("/config", self.configure),
            ]
        )
        return application

    async def complete(self, request: web.Request) -> web.StreamResponse:
        """One call of a model. It is in the books whatever becomes of the client."""
        key = request.headers.get("Authorization", "").removeprefix("Bearer ")
        entry = self.books.open(key)
        try:
            reply = self._timed_reply(await request.read(), key, entry)
            if reply.delay_seconds:
                await asyncio.sleep(reply.delay_seconds)
            if reply.manner == "hold":
                await self.let_go.wait()
            return await send(request, reply, entry)
        except (asyncio.CancelledError, ConnectionError):
            entry.is_gone = True
            raise
        finally:
            self.books.close(entry)

    async def show_log(self, request: web.Request) -> web.Response:
        """All requests, or those after a number."""
        return web.json_response({"requests": self.books.rows(int(request.query.get("after", 0)))})

    async def show_stats(self, request: web.Request) -> web.Response:
        """Totals."""
        return web.json_response(self.books.stats())

    async def configure(self, request: web.Request) -> web.Response:
        """Replaces the fields that are given; the scenario is that of the start."""
        try:
            given = Config.model_validate_json(await request.read())
        except ValidationError as error:
            return web.json_response({"error": str(error)}, status=400)
        changed = {name: getattr(given, name) for name in given.model_fields_set - {"scenario"}}
        self.config = self.config.model_copy(update=changed)
        if "faults" in changed:
            self.let_go.set()
            self.let_go = asyncio.Event()
        return web.json_response({"changed": list(changed)})

    def _timed_reply(self, body: bytes, key: str, entry: Entry) -> Reply:
        started = time.perf_counter()
        reply = self._reply(body, key, entry)
        entry.own_milliseconds = round((time.perf_counter() - started) * 1000, 3)
        return reply

    def _reply(self, body: bytes, key: str, entry: Entry) -> Reply:
        try:
            conversation = read_conversation(json.loads(body))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            return error_reply(answers.bad_request(str(error)))
        self.books.note(entry, conversation)
        policy = policy_of(conversation.model)
        if self.config.api_key not in (None, key):
            return error_reply(answers.invalid_key(key))
        if policy is None:
            return error_reply(answers.unknown_model(conversation.model))
        asked = Asked(entry.model, entry.call, entry.digest, entry.turn, entry.prompt_tokens, entry.repeat)
        reply = self._reply_or_trouble(conversation, policy, key, asked, entry)
        reply.delay_seconds = self.config.latency_seconds(asked) + policy.latency_seconds
        return reply

    def _reply_or_trouble(
        self, conversation: Conversation, policy: Policy, key: str, asked: Asked, entry: Entry
    ) -> Reply:
        fault = self.config.trouble(asked)
        if fault:
            entry.trouble = fault.kind
            error = error_of(fault, key, asked)
            if error:
                return error_reply(error, fault.retry_after if error.status == 429 else None)
        reply = self._answer(conversation, policy, asked, entry)
        if fault:
            reply.manner, reply.share, reply.drip_seconds = fault.kind, fault.share, fault.delay_seconds(asked)
        return reply

    def _answer(self, conversation: Conversation, policy: Policy, asked: Asked, entry: Entry) -> Reply:
        choice = self._choice(conversation, policy, asked, entry)
        reasoning = int(policy.parameters.get("reasoning", self.config.reasoning_tokens))
        usage = Usage(
            asked.tokens, self.books.cached_tokens(conversation), answers.tokens_of(choice) + reasoning, reasoning
        )
        entry.cached_tokens, entry.completion_tokens = usage.cached, usage.completion
        choices = [] if entry.trouble == "no_choices" else [choice]
        name = self.config.name_in_answer(conversation.model)
        return Reply(200, json.dumps(answers.completion(name, asked.digest[:24], choices, usage)).encode())

    def _choice(self, conversation: Conversation, policy: Policy, asked: Asked, entry: Entry) -> answers.Choice:
        if conversation.asks_for_summary:
            return answers.summary_of(conversation)
        fault = self.config.misbehaviour(asked)
        decision = self._decision(conversation, policy, entry)
        if fault and fault.kind == "changed_mind":
            decision = answers.other_than(decision)
        entry.tool = decision.tool
        choice = answers.choice_of(decision, call_id_of(conversation), f"Turn {asked.turn}: {decision.tool}.")
        if fault:
            entry.misbehaviour = fault.kind
            choice = answers.spoil(choice, fault.kind)
        return choice

    def _decision(self, conversation: Conversation, policy: Policy, entry: Entry) -> Decision:
        try:
            return self.policies.decide(policy, conversation)
        except CannotRebuild as reason:
            entry.waited_because = str(reason)
            return WAIT


def error_of(fault: Fault, key: str, asked: Asked) -> HttpError | None:
    """The error that a fault is, if it is one."""
    match fault.kind:
        case "invalid_key":
            return answers.invalid_key(key)
        case "unknown_model":
            return answers.unknown_model(asked.model)
        case "status":
            return HttpError(fault.status, answers.error_body("No.", "some_error"))
        case "context_length":
            return answers.context_length_exceeded(asked.tokens, fault.tokens)
    return answers.ERRORS.get(fault.kind)


def error_reply(error: HttpError, retry_after: float | str | None = None) -> Reply:
    """An error on its way out."""
    if isinstance(error.body, str):
        return Reply(error.status, error.body.encode(), {"Content-Type": "text/html"})
    reply = Reply(error.status, json.dumps(error.body).encode())
    if retry_after is not None:
        reply.headers["Retry-After"] = str(retry_after)
    return reply


async def send(request: web.Request, reply: Reply, entry: Entry) -> web.StreamResponse:
    """Sends a reply, or as much of it as the fault on its way lets through."""
    if reply.manner == "hang":
        await asyncio.Event().wait()
    if reply.manner == "cut":
        return await send_part(request, reply)
    if reply.manner == "drip":
        response = await send_slowly(request, reply)
    else:
        response = web.Response(status=reply.status, body=reply.body, headers=reply.headers)
        await response.prepare(request)
    await response.write_eof()
    entry.status = reply.status
    return response


async def begin(request: web.Request, reply: Reply) -> web.StreamResponse:
    """A response whose headers promise the whole body."""
    response = web.StreamResponse(status=reply.status, headers=reply.headers)
    response.content_length = len(reply.body)
    await response.prepare(request)
    return response


async def send_part(request: web.Request, reply: Reply) -> web.StreamResponse:
    """Hangs up in the middle, or before the first byte."""
    response: web.StreamResponse = web.Response()
    if reply.share:
        response = await begin(request, reply)
        await response.write(reply.body[: int(len(reply.body) * reply.share)])
    assert request.transport is not None
    request.transport.close()
    return response


async def send_slowly(request: web.Request, reply: Reply) -> web.StreamResponse:
    """Never silent for long, and never done for long."""
    response = await begin(request, reply)
    size = -(-len(reply.body) // DRIP_PIECES)
    for start in range(0, len(reply.body), size):
        if start:
            await asyncio.sleep(reply.drip_seconds / DRIP_PIECES)
        await response.write(reply.body[start : start + size])
    return response


async def serve(config: Config, port: int) -> None:
    """Serves on loopback until SIGTERM or SIGINT; prints the address once it answers."""
    # Handlers are cancelled when their client goes away, so that the books can tell.
    runner = web.AppRunner(
        ModelServer(config).application(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1
    )
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, backlog=1024).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    told_to_stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, told_to_stop.set)
    await told_to_stop.wait()
    await runner.cleanup()
