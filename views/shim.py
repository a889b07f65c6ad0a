"""The inline code of a component of ours: a few lines that import the real module from the app's asset route.

Inline code would travel again with every changed setting. The module exports `update(component)`, which may be called
again and again, and `destroy(place)`; the data has `labels.load_failed`, for a module that does not arrive.

Where settings change while the component's code is still on its way, Streamlit (1.67) calls for the old ones as well,
sometimes last, and takes that call back at once. So a call waits for a task to pass before it does anything, and if it
is taken back, the picture goes only if this call has put it there.
"""

from __future__ import annotations

from views.served_files import asset_url

# Registered inline code needs a line break, and a root-relative import does not resolve inside it.
_SHIM = """
const ready = import(new URL("{address}", location.origin).href);
const shown = new WeakMap(); // place -> the call whose settings are in its picture
export default function (component) {{
  let gone = false;
  const place = component.parentElement;
  const show = (module) => {{
    if (gone) return;
    shown.set(place, component);
    module.update(component);
  }};
  ready.then(
    (module) => setTimeout(show, 0, module),
    () => {{ place.querySelector("{element}").textContent = component.data.labels.load_failed; }},
  );
  return () => {{
    gone = true;
    ready.then((module) => {{ if (shown.get(place) === component) module.destroy(place); }}, () => undefined);
  }};
}}
"""


def shim(module: str, element: str) -> str:
    """The code for a module below views/assets; `element` selects the part of the component's HTML that it fills."""
    return _SHIM.format(address=asset_url(module), element=element)
