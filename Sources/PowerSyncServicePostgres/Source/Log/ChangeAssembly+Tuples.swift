import PowerSyncProtocol
import PowerSyncSyncConfig

/// What tuples of the change stream say.
extension ChangeAssembly {
    /// The values of a tuple that begins with the columns of the table; `nil` for those that were not sent.
    static func values(_ tuple: PgoutputTuple, _ decoder: RowDecoder) -> [SQLValue?] {
        var values: [SQLValue?] = []
        values.reserveCapacity(tuple.count)
        tuple.forEachColumn { position, column in
            guard position < decoder.layout.names.count else { return }
            switch column {
            case .null: values.append(.null)
            case .unchanged: values.append(nil)
            case .text(let text): values.append(decoder.value(text, of: position))
            }
        }
        return values
    }

    /// The key of a tuple that may have other columns than the table; `nil` when it does not have that of the table.
    ///
    /// - Parameters:
    ///   - new: The tuple.
    ///   - old: The row before, which has large values that stay.
    ///   - identity: Where the identity is in both.
    ///   - followed: The table.
    /// - Returns: The values of the identity.
    static func key(
        _ new: PgoutputTuple,
        filledBy old: PgoutputMessage.OldTuple? = nil,
        _ identity: [Int]?,
        of followed: FollowedTable
    ) -> [SQLValue]? {
        guard let identity else { return nil }
        let columns = followed.table.identity.map { followed.decoder.layout.position(of: $0.name) }
        return completeKey(new, old, identity) { text, place in
            columns[place].map { followed.decoder.value(text, of: $0) }
        }
    }

    /// The texts of a key, as the server has them; `nil` when one is not there.
    ///
    /// Some values become others on their way, such as timestamps with a lower precision, and would not be found again.
    static func sourceKey(
        _ new: PgoutputTuple,
        _ old: PgoutputMessage.OldTuple?,
        _ identity: [Int]
    ) -> [SQLValue]? {
        completeKey(new, old, identity) { text, _ in .text(text.string) }
    }

    private static func completeKey(
        _ new: PgoutputTuple,
        _ old: PgoutputMessage.OldTuple?,
        _ identity: [Int],
        _ value: (_ text: ByteView, _ place: Int) -> SQLValue?
    ) -> [SQLValue]? {
        func values(_ tuple: PgoutputTuple) -> [SQLValue?] {
            var key = [SQLValue?](repeating: nil, count: identity.count)
            tuple.forEachColumn { position, column in
                guard let place = identity.firstIndex(of: position) else { return }
                switch column {
                case .null: key[place] = .null
                case .unchanged: break
                case .text(let text): key[place] = value(text, place)
                }
            }
            return key
        }
        let key = values(new)
        guard key.contains(nil), let old else { return key.contains(nil) ? nil : key.compactMap(\.self) }
        let complete = zip(key, values(old.content.tuple)).map { $0 ?? $1 }
        return complete.contains(nil) ? nil : complete.compactMap(\.self)
    }
}

extension PgoutputMessage.OldTuple {
    /// The tuple, and whether it has all columns.
    var content: (tuple: PgoutputTuple, isFull: Bool) {
        switch self {
        case .key(let tuple): (tuple, false)
        case .full(let tuple): (tuple, true)
        }
    }
}
