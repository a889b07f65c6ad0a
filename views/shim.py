"""The inline code of a component of ours: a few lines that import the real module from the app's asset route.

Inline code would travel again with every changed setting. The module exports `update(component)`, which may be called
again and again, and `destroy(place)`; the data has `labels.load_failed`, for a module that does not arrive.
"""

from __future__ import annotations

from views.served_files import asset_url

# Registered inline code needs a line break, and a root-relative import does not resolve inside it.
_SHIM = """
const ready = import(new URL("{address}", location.origin).href);
export default function (component) {{
  let gone = false;
  const place = component.parentElement;
  ready.then(
    (module) => {{ if (!gone) module.update(component); }},
    () => {{ place.querySelector("{element}").textContent = component.data.labels.load_failed; }},
  );
  return () => {{
    gone = true;
    ready.then((module) => module.destroy(place), () => undefined);
  }};
}}
"""


def shim(module: str, element: str) -> str:
    """The code for a module below views/assets; `element` selects the part of the component's HTML that it fills."""
    return _SHIM.format(address=asset_url(module), element=element)
