# SPDX-License-Identifier: Apache-2.0
"""How every peer tells the test what happened: one JSON object a line."""

import json
import sys


def tell(event, **fields):
    # The line and its end in one write: `print` writes them apart, and the lines of two threads may then be glued together.
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()
