"""`evaljudge run --until judge` as a job: ray job submit -- python jobs/judge.py CONFIG"""

import sys

from evaljudge.__main__ import main

if __name__ == "__main__":
    main(["run", "--until", "judge", *sys.argv[1:]])
