// The panel in a browser page: the interface of a Jupyter widget (send, on) over a WebSocket.
import panel from "./panel.js";

const listeners = [];
const socket = new WebSocket(`ws://${location.host}${location.pathname}socket`);
const model = {
  on: (_, listener) => listeners.push(listener),
  send: (request) => socket.send(JSON.stringify(request)),
};
const receive = (event) => listeners.forEach((listener) => listener(event));

socket.onopen = () => panel.render({ model, el: document.getElementById("panel") });
socket.onmessage = (message) => receive(JSON.parse(message.data));
socket.onclose = () => receive({ event: "closed" });
