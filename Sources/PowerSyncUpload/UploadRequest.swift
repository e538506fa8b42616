package import NIOCore
package import PowerSyncProtocol

/// What a client sends to the app's own backend: writes from the head of its upload queue, oldest first.
///
/// ```json
/// {"client_id":"0b1c…","data":[{"op_id":7,"tx_id":3,"op":"PUT","type":"lists","id":"l1","data":{"name":"Groceries"}}]}
/// ```
///
/// ```swift
/// let request = try UploadRequest(json: body)
/// for transaction in request.transactions { try apply(transaction) }
/// ```
public struct UploadRequest: Sendable, Hashable {
    /// The longest id of a client, in bytes; those of the SDK have 36.
    private static let longestClientID = 255

    /// The id of the client's database: with it, ``UploadEntry/operationID`` says whether a write has come before.
    ///
    /// Without one, a request that comes twice is applied twice.
    public var clientID: String?
    /// The writes, in the order in which they were made.
    public var entries: [UploadEntry]
    /// The answer to writes of which it is not known what they are about: an id or a name is no text.
    ///
    /// `SQLiteUploadApplier` gives it. A backend that applies writes itself has to leave them out, and to answer with this, so that the
    /// client's queue goes on.
    public private(set) var rejections: [EntryRejection] = []

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - clientID: The id of the client's database.
    ///   - entries: The writes, in the order in which they were made.
    public init(clientID: String?, entries: [UploadEntry]) {
        self.clientID = clientID
        self.entries = entries
    }

    /// The writes by local transaction: neighbours with the same transaction id.
    ///
    /// - Complexity: O(number of writes).
    public var transactions: [ArraySlice<UploadEntry>] {
        var transactions: [ArraySlice<UploadEntry>] = []
        var start = entries.startIndex
        for index in entries.indices {
            let next = index + 1
            if next < entries.endIndex, let id = entries[index].transactionID, entries[next].transactionID == id {
                continue
            }
            transactions.append(entries[start..<next])
            start = next
        }
        return transactions
    }
}

extension UploadRequest {
    /// Reads a request.
    ///
    /// - Parameter json: JSON text in UTF-8.
    /// - Throws: ``UploadFormatError``, also when a client id is there and the writes are not in the order of their numbers.
    public init(json: some Sequence<UInt8>) throws(UploadFormatError) {
        try self.init(json: ByteBuffer(bytes: json))
    }

    /// Reads a request from the readable bytes of a buffer.
    package init(json: ByteBuffer) throws(UploadFormatError) {
        let value: ExactJSON
        do {
            value = try ExactJSON(parsing: json, halfPairs: .replaced)
        } catch {
            throw UploadFormatError("the body is not valid JSON: \(error)")
        }
        guard case .object(let object) = value else { throw UploadFormatError("the body must be an object") }
        try self.init(members: object, readFrom: json)
    }

    /// Reads a request from its members.
    ///
    /// - Parameters:
    ///   - members: The members, with U+FFFD for each half of a surrogate pair.
    ///   - json: What the members were read from.
    /// - Throws: ``UploadFormatError``.
    package init(members: JSONObject, readFrom json: ByteBuffer) throws(UploadFormatError) {
        let halved: Set<Int>
        do throws(JSONError) {
            halved = try json.withByteView { bytes throws(JSONError) in try HalvedEntries.indices(in: bytes) }
        } catch {
            throw UploadFormatError("the body is not valid: \(error)")
        }
        switch members["client_id"] {
        case nil, .null: clientID = nil
        case .string(let id): clientID = id
        default: throw UploadFormatError("client_id must be a string")
        }
        guard case .array(let values) = members["data"] else {
            throw UploadFormatError("data must be an array of writes")
        }
        var entries: [UploadEntry] = []
        entries.reserveCapacity(values.count)
        for (index, value) in values.enumerated() {
            let path = "data[\(index)]"
            // Without a client, numbers only say in the answer which write is meant.
            let defaultID = clientID == nil ? Int64(index) + 1 : nil
            let entry = try UploadEntry(value, at: path, defaultID: defaultID)
            entries.append(entry)
            if halved.contains(index) { rejections.append(HalvedEntries.rejection(of: entry.operationID)) }
        }
        self.entries = entries
        try validate()
    }

    /// Checks what is stored and relied on: the id of the client, and the order of the numbers.
    package func validate() throws(UploadFormatError) {
        if let clientID {
            guard (1...Self.longestClientID).contains(clientID.utf8.count) else {
                throw UploadFormatError("client_id must have 1 to \(Self.longestClientID) bytes")
            }
        }
        for index in entries.indices.dropFirst() where entries[index].operationID <= entries[index - 1].operationID {
            throw UploadFormatError("data[\(index)]: op_id must be greater than that of the write before it")
        }
    }

    /// The request as JSON text in UTF-8.
    ///
    /// - Complexity: O(size of the writes).
    public var json: [UInt8] {
        var members = JSONObject()
        if let clientID { members["client_id"] = .string(clientID) }
        members["data"] = .array(entries.map { .object($0.json) })
        return Array(members.text.utf8)
    }
}
