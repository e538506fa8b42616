import PowerSyncSQLite

/// Values by the ids of attachments, in the order in which the ids were added.
///
/// A new value of an id that is there keeps its place. All operations take constant time on average, but for ``values``.
struct OrderedValues<Value: Sendable>: Sendable {
    private struct Entry {
        var value: Value
        /// Its place in the order.
        var number: Int
    }

    private var entries: [ExactText: Entry] = [:]
    /// The ids and their places, from `first` on; those that are not in `entries` with this number have been removed.
    private var order: [(id: ExactText, number: Int)] = []
    private var first = 0
    private var lastNumber = 0

    /// Creates an empty collection.
    init() {}

    /// Whether there is no value.
    var isEmpty: Bool { entries.isEmpty }
    /// How many values there are.
    var count: Int { entries.count }

    /// The value of an id.
    subscript(id: String) -> Value? { entries[ExactText(id)]?.value }

    /// The values, those of the oldest ids first.
    ///
    /// - Complexity: O(*n*), *n* values.
    var values: [Value] {
        order[first...].compactMap { id, number in
            guard let entry = entries[id], entry.number == number else { return nil }
            return entry.value
        }
    }

    /// Sets the value of an id.
    ///
    /// - Returns: The value that the id had.
    @discardableResult
    mutating func update(_ value: Value, for id: String) -> Value? {
        let id = ExactText(id)
        if let number = entries[id]?.number {
            return entries.updateValue(Entry(value: value, number: number), forKey: id)?.value
        }
        lastNumber += 1
        entries[id] = Entry(value: value, number: lastNumber)
        order.append((id, lastNumber))
        return nil
    }

    /// Removes the value of an id.
    ///
    /// - Returns: The value.
    @discardableResult
    mutating func remove(_ id: String) -> Value? {
        let removed = entries.removeValue(forKey: ExactText(id))?.value
        compactIfSparse()
        return removed
    }

    /// Removes the value of the oldest id.
    ///
    /// - Returns: The value.
    mutating func popFirst() -> Value? {
        defer { compactIfSparse() }
        while first < order.count {
            let (id, number) = order[first]
            first += 1
            guard entries[id]?.number == number else { continue }
            return entries.removeValue(forKey: id)?.value
        }
        return nil
    }

    /// Removes all values.
    mutating func removeAll() {
        entries.removeAll(keepingCapacity: true)
        order.removeAll(keepingCapacity: true)
        first = 0
    }

    private mutating func compactIfSparse() {
        guard order.count > 2 * entries.count + 16 else { return }
        order = order[first...].filter { entries[$0.id]?.number == $0.number }
        first = 0
    }
}
