"""`evaljudge judge` as a job: ray job submit -- python jobs/judge.py CONFIG [--set KEY=VALUE]"""

import sys

from evaljudge.__main__ import main

if __name__ == "__main__":
    main(["judge", *sys.argv[1:]])
