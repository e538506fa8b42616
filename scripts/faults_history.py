"""What clients have written and read in scripts/soak-faults, and whether that is as it has to be.

    python3 scripts/faults_history.py     (looks at histories with a mistake in each, all of which have to be found)
"""
import collections
import threading
import time


class Transaction:
    """What somebody has tried to write."""

    def __init__(self, writer, value, keys):
        self.writer, self.value, self.keys = writer, value, keys
        # The registers before it, if that is known; and whether its commit was confirmed: else it may have happened or not.
        self.read, self.committed = None, False


class History:
    """All transactions, and what was read since the last check."""

    def __init__(self, registers):
        """A history without anything in it. The registers are 0 at its beginning."""
        self.registers, self.began = registers, time.monotonic()
        self.lock = threading.Lock()
        self.transactions, self.reads, self.errors = {}, [], []
        # The least values that a reader may see, by reader.
        self.floors = {}
        self.lines = []

    def begin(self, writer, keys):
        with self.lock:
            transaction = Transaction(writer, len(self.transactions) + 1, keys)
            self.transactions[transaction.value] = transaction
            return transaction

    def add(self, reader, values, torn, transaction=None):
        """What a reader has seen, in the order in which it has; with the transaction that has read it, if that is committed."""
        vector = [values.get(key, -1) for key in self.registers]
        with self.lock:
            if transaction:
                transaction.read, transaction.committed = vector, True
            self.reads.append((reader, time.monotonic() - self.began, vector, torn, transaction))

    def refuse(self, reader, error):
        with self.lock:
            self.errors.append(f"{reader}: {error}")

    def check(self):
        """Looks at what was read since the last time. Returns how much that was, and what was not as it has to be, by kind."""
        with self.lock:
            reads, self.reads, self.errors, errors = self.reads, [], [], self.errors
        found = {"available": errors}
        for reader, at, vector, torn, transaction in reads:
            self.lines.append({
                "reader": reader, "at": round(at, 3), "read": vector,
                **({"wrote": transaction.value, "to": transaction.keys} if transaction else {})})
            place = f"{reader} at {at:.3f} s"
            if torn:
                found.setdefault("atomic", []).append(f"{place} sees {torn} in registers, without their entries")
            floor = self.floors.get(reader)
            if floor:
                back = [f"{key} {old} → {new}" for key, old, new in zip(self.registers, floor, vector) if new < old]
                if back:
                    found.setdefault("monotonic", []).append(f"{place} has seen, or written, more: {', '.join(back)}")
            self.floors[reader] = [max(pair) for pair in zip(floor or vector, vector)]
            if transaction:
                for key in transaction.keys:
                    index = self.registers.index(key)
                    self.floors[reader][index] = max(self.floors[reader][index], transaction.value)
            for value in sorted(set(vector)):
                if value <= 0:
                    continue
                seen = self.transactions.get(value)
                if not seen:
                    found.setdefault("loss", []).append(f"{place} sees {value}, which nobody has written")
                    continue
                half = [key for key in seen.keys if vector[self.registers.index(key)] < value]
                if half:
                    found.setdefault("atomic", []).append(f"{place} sees {value} of {seen.writer}, and not in {half}")
                if seen.read:
                    missing = [key for key, old, new in zip(self.registers, seen.read, vector) if new < old]
                    if missing:
                        found.setdefault("causal", []).append(
                            f"{place} sees {value} of {seen.writer}, and not what that had read in {missing}")
        return len(reads), {kind: texts for kind, texts in found.items() if texts}

    def check_source(self, applications, entries, stored):
        """Whether each transaction is in the source once, in its client's order.

        applications: for each time that a transaction was applied, a number that ascends and the value; entries: the values;
        stored: each register and its value; all of them texts. Returns what is not as it has to be.
        """
        found = []
        order = [value for _, value in sorted((int(number), int(value)) for number, value in applications)]
        twice = sorted(value for value, count in collections.Counter(order).items() if count > 1)
        there = {int(value) for value, in entries}
        if twice:
            found.append(f"applied more than once: {twice}")
        if there != set(order):
            found.append(f"entries are not those that were applied: {sorted(there ^ set(order))}")
        if unknown := sorted(there - self.transactions.keys()):
            found.append(f"nobody has written {unknown}")
        lost = sorted(value for value, transaction in self.transactions.items() if transaction.committed and value not in there)
        if lost:
            found.append(f"lost: {[(value, self.transactions[value].writer) for value in lost]}")
        stored = {key: int(value) for key, value in stored}
        greatest = dict.fromkeys(self.registers, 0)
        last = {}
        for value in order:
            if not (transaction := self.transactions.get(value)):
                continue
            if last.get(transaction.writer, 0) > value and transaction.writer != "source":
                found.append(f"{value} of {transaction.writer} came behind {last[transaction.writer]}")
            last[transaction.writer] = value
            for key in transaction.keys:
                greatest[key] = max(greatest[key], value)
        if stored != greatest:
            found.append(f"registers of the source are not the greatest: {[key for key in self.registers if stored.get(key) != greatest[key]]}")
        return found


def check_itself():
    """Fails unless each kind of mistake is found, and no other one."""

    def found(begin, applications=None, entries="12", stored=("1", "2", "0")):
        history = History(["r0", "r1", "r2"])

        def read(reader, *values, transaction=None, torn=()):
            history.add(reader, dict(zip(history.registers, values)), list(torn), transaction)

        begin(history, read)
        kinds = set(history.check()[1])
        if applications:
            source = history.check_source(list(enumerate(applications)), list(entries), list(zip(history.registers, stored)))
            kinds |= {"loss"} if source else set()
        return kinds

    def writes(history, read):
        read("a", 0, 0, 0, transaction=history.begin("a", ["r0"]))
        read("b", 1, 0, 0, transaction=history.begin("b", ["r1"]))

    def then(*reads, **more):
        def begin(history, read):
            writes(history, read)
            for values in reads:
                read(*values, **more)

        return begin

    def pair(history, read):
        read("a", 0, 0, 0, transaction=history.begin("a", ["r0", "r1"]))
        read("b", 1, 0, 0)

    def two_of_one(history, read):
        for before in ((0, 0, 0), (1, 0, 0)):
            read("a", *before, transaction=history.begin("a", [f"r{before[0]}"]))

    cases = [
        (set(), found(then(("c", 0, 0, 0), ("c", 1, 0, 0), ("c", 1, 2, 0)), applications="12")),
        (set(), found(two_of_one, applications="12")),
        ({"atomic"}, found(pair)),
        ({"atomic"}, found(then(("c", 1, 2, 0), torn=[2]))),
        ({"monotonic"}, found(then(("a", 0, 0, 0)))),
        ({"monotonic"}, found(then(("c", 1, 0, 0), ("c", 0, 0, 0)))),
        ({"causal"}, found(then(("c", 0, 2, 0)))),
        ({"loss"}, found(then(("c", 1, 9, 0)))),
        ({"loss"}, found(writes, applications="122")),
        ({"loss"}, found(writes, applications="12", entries="1")),
        ({"loss"}, found(writes, applications="12", stored=("1", "0", "0"))),
        ({"loss"}, found(writes, applications="1", entries="1", stored=("1", "0", "0"))),
        ({"loss"}, found(two_of_one, applications="21")),
    ]
    for number, (expected, kinds) in enumerate(cases):
        if kinds != expected:
            raise AssertionError(f"history {number} has {expected or 'nothing'}, and this was found: {kinds or 'nothing'}")


if __name__ == "__main__":
    check_itself()
