"""`evaljudge run` as a job: ray job submit -- python jobs/run.py CONFIG [--set KEY=VALUE]"""

import sys

from evaljudge.__main__ import main

if __name__ == "__main__":
    main(["run", *sys.argv[1:]])
