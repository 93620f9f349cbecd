"""`evaljudge study` as a job: ray job submit -- python jobs/study.py CONFIG [--set KEY=VALUE]"""

import sys

from evaljudge.__main__ import main

if __name__ == "__main__":
    main(["study", *sys.argv[1:]])
