/// Events by their times; of two at the same time, the one that was added first.
struct EventQueue<Event> {
    private struct Entry {
        var time: UInt64
        var number: UInt64
        var event: Event

        func isBefore(_ other: Entry) -> Bool { (time, number) < (other.time, other.number) }
    }

    /// A binary heap: each entry is before the two at twice its index, and one and two more.
    private var heap: [Entry] = []
    private var lastNumber: UInt64 = 0

    /// The time of the first event; `nil` when there is none.
    var firstTime: UInt64? { heap.first?.time }

    /// Adds an event.
    ///
    /// - Complexity: O(log *n*).
    mutating func add(_ event: Event, at time: UInt64) {
        lastNumber += 1
        heap.append(Entry(time: time, number: lastNumber, event: event))
        var index = heap.count - 1
        while index > 0, heap[index].isBefore(heap[(index - 1) / 2]) {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    /// Takes the first event out.
    ///
    /// - Complexity: O(log *n*).
    mutating func removeFirst() -> Event? {
        guard let first = heap.first, let last = heap.popLast() else { return nil }
        guard !heap.isEmpty else { return first.event }
        heap[0] = last
        var index = 0
        while true {
            let children = (2 * index + 1)...(2 * index + 2)
            guard let least = children.filter(heap.indices.contains).min(by: { heap[$0].isBefore(heap[$1]) }),
                heap[least].isBefore(heap[index])
            else { break }
            heap.swapAt(index, least)
            index = least
        }
        return first.event
    }
}
