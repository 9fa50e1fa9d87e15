// A socket that opens again whenever it breaks: soon at first, then ever more rarely, never all pages at once.

const FIRST_WAIT_MS = 300;
const LONGEST_WAIT_MS = 10_000;
const SILENT_MS = 25_000; // the server says something every seven seconds
const NOT_STAFF = 4401;
const FINAL = { 4400: "This page asked for something that is not there.", 4404: "This run is no longer there." };

export class Socket {
  // address() gives the path at each attempt, since what is asked for moves on. Calls back onMessage(object),
  // onOpen(), onLost(when it last heard something), onEnd(why it will not try again). `final`: why, by closing code.
  constructor(address, { onMessage, onOpen, onLost, onEnd, final = FINAL }) {
    Object.assign(this, { address, onMessage, onOpen, onLost, onEnd, final });
    this.failures = 0;
    this.heardAt = new Date();
    this.ended = false;
    addEventListener("online", () => this.openNow());
    addEventListener("offline", () => this.drop());
    addEventListener("pagehide", () => this.drop());
    addEventListener("pageshow", () => this.openNow());
    document.addEventListener("visibilitychange", () => !document.hidden && this.openNow());
    setInterval(() => this.isSilent() && this.again(), 1000);
    this.open();
  }

  open() {
    clearTimeout(this.timer);
    const base = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}`;
    const socket = (this.socket = new WebSocket(base + this.address()));
    this.triedAt = Date.now();
    socket.onmessage = (event) => this.socket === socket && this.hear(JSON.parse(event.data));
    socket.onclose = (event) => this.socket === socket && this.close(event.code);
    socket.onopen = () => this.socket === socket && this.onOpen();
  }

  hear(message) {
    this.failures = 0;
    this.heardAt = new Date();
    this.onMessage(message);
  }

  send(object) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(object));
  }

  // Ask again from where the page stands: a gap, or a line that died without saying so.
  again() {
    this.drop();
    this.open();
  }

  openNow() {
    if (!this.ended && (!this.socket || this.socket.readyState > WebSocket.OPEN)) this.open();
  }

  drop() {
    clearTimeout(this.timer);
    if (!this.socket) return;
    this.socket.onclose = null;
    this.socket.close();
    this.socket = null;
    if (!this.ended) this.onLost(this.heardAt);
  }

  close(code) {
    this.socket = null;
    if (code === NOT_STAFF) return this.end("You are signed out. Load the page again to sign in.");
    if (code in this.final) return this.end(this.final[code]);
    this.onLost(this.heardAt);
    const most = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.failures);
    this.failures += 1;
    this.timer = setTimeout(() => this.open(), most * (0.5 + Math.random() / 2));
  }

  end(why) {
    this.ended = true;
    this.onEnd(why);
  }

  isSilent() {
    return this.socket && !this.ended && Date.now() - Math.max(this.heardAt, this.triedAt) > SILENT_MS;
  }
}
