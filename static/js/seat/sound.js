// A short soft beep, made here: no file. It can be switched off, and the browser remembers.

import { setText, slot } from "../run/slots.js";
import { wishes } from "./kept.js";

export class Sound {
  constructor() {
    this.button = document.getElementById("sound");
    this.isOn = wishes.get("sound") !== false;
    this.button.addEventListener("click", () => {
      this.isOn = !this.isOn;
      wishes.set("sound", this.isOn);
      this.show();
      this.beep();
    });
    // Browsers let a page sound only after its visitor has done something.
    for (const kind of ["pointerdown", "keydown"]) addEventListener(kind, () => this.context?.resume(), { passive: true });
    this.show();
  }

  show() {
    this.button.setAttribute("aria-pressed", String(this.isOn));
    setText(slot(this.button, "sound"), this.isOn ? "Sound on" : "Sound off");
    this.button.title = this.isOn ? "A sound tells when it is your turn" : "No sound when it is your turn";
    this.button.setAttribute("aria-label", this.isOn ? "Sound on" : "Sound off");
  }

  beep() {
    if (!this.isOn || !navigator.userActivation?.hasBeenActive) return;
    this.context ??= new AudioContext();
    const at = this.context.currentTime;
    for (const [pitch, delay] of [[660, 0], [880, 0.14]]) {
      const [tone, loudness] = [this.context.createOscillator(), this.context.createGain()];
      tone.frequency.value = pitch;
      loudness.gain.setValueAtTime(0, at + delay);
      loudness.gain.linearRampToValueAtTime(0.12, at + delay + 0.02);
      loudness.gain.exponentialRampToValueAtTime(0.001, at + delay + 0.25);
      tone.connect(loudness).connect(this.context.destination);
      tone.start(at + delay);
      tone.stop(at + delay + 0.3);
    }
    document.documentElement.dataset.beeps = String(Number(document.documentElement.dataset.beeps ?? 0) + 1);
  }
}
