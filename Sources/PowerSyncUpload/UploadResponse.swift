package import NIOCore
package import PowerSyncProtocol

/// What a backend answers to an ``UploadRequest``.
///
/// ```json
/// {"applied_through":7,"rejections":[{"op_id":8,"status":403,"code":"forbidden","message":"Not yours."}]}
/// ```
///
/// ```swift
/// let response = UploadResponse(appliedThrough: request.entries.last?.operationID)
/// ```
///
/// The answer may stop in the middle of the request: what it does not speak of is sent again.
public struct UploadResponse: Sendable, Hashable {
    /// The last entry of the last transaction that is in the backend's database, `applied_through`; `nil` for none.
    ///
    /// So are all transactions before it, whether this request or an earlier one brought them.
    public var appliedThrough: Int64?
    /// The writes of the next transaction that are not applied.
    public var rejections: [EntryRejection]
    /// A write checkpoint that the backend made, as decimal digits, for those that do that themselves.
    public var writeCheckpoint: String?

    /// Creates an answer.
    ///
    /// - Parameters:
    ///   - appliedThrough: The last entry of the last transaction that is in the backend's database.
    ///   - rejections: The writes of the next transaction that are not applied.
    ///   - writeCheckpoint: A write checkpoint that the backend made.
    public init(appliedThrough: Int64?, rejections: [EntryRejection] = [], writeCheckpoint: String? = nil) {
        self.appliedThrough = appliedThrough
        self.rejections = rejections
        self.writeCheckpoint = writeCheckpoint
    }
}

extension UploadResponse {
    /// Reads an answer.
    ///
    /// - Parameter json: JSON text in UTF-8.
    /// - Throws: ``UploadFormatError``.
    public init(json: some Sequence<UInt8>) throws(UploadFormatError) {
        try self.init(json: ByteBuffer(bytes: json))
    }

    /// Reads an answer from the readable bytes of a buffer.
    package init(json: ByteBuffer) throws(UploadFormatError) {
        guard case .object(let object) = try? ExactJSON(parsing: json) else {
            throw UploadFormatError("it is not a JSON object")
        }
        switch object["applied_through"] {
        case .null: appliedThrough = nil
        case .integer(let number): appliedThrough = number
        default: throw UploadFormatError("applied_through must be an integer or null")
        }
        switch object["write_checkpoint"] {
        case nil, .null: writeCheckpoint = nil
        case .string(let text): writeCheckpoint = text
        default: throw UploadFormatError("write_checkpoint must be a string")
        }
        rejections = []
        switch object["rejections"] {
        case nil, .null: break
        case .array(let values):
            for (index, value) in values.enumerated() {
                guard let rejection = EntryRejection(value) else {
                    throw UploadFormatError(
                        "rejections[\(index)] must have op_id and status, and texts as code and message"
                    )
                }
                rejections.append(rejection)
            }
        default: throw UploadFormatError("rejections must be an array")
        }
    }

    /// The answer as members of JSON.
    package var members: JSONObject {
        var members: JSONObject = ["applied_through": appliedThrough.map(ExactJSON.integer) ?? .null]
        if !rejections.isEmpty { members["rejections"] = .array(rejections.map(\.jsonValue)) }
        if let writeCheckpoint { members["write_checkpoint"] = .string(writeCheckpoint) }
        return members
    }

    /// The answer as JSON text in UTF-8.
    ///
    /// - Complexity: O(number of rejections).
    public var json: [UInt8] { Array(members.text.utf8) }
}

extension EntryRejection {
    fileprivate init?(_ value: ExactJSON) {
        guard
            case .object(let object) = value,
            case .integer(let operationID) = object["op_id"],
            case .integer(let number) = object["status"], let status = Int(exactly: number)
        else { return nil }
        func text(_ name: String) -> String?? {
            switch object[name] {
            case nil, .null: .some(nil)
            case .string(let text): text
            default: nil
            }
        }
        guard let code = text("code"), let message = text("message") else { return nil }
        self.init(operationID: operationID, Code(code ?? "\(status)"), status: status, message: message ?? "")
    }

    fileprivate var jsonValue: ExactJSON {
        [
            "op_id": .integer(operationID), "status": .integer(Int64(status)), "code": .string(code.rawValue),
            "message": .string(message),
        ]
    }
}
