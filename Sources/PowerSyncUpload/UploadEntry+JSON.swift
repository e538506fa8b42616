package import PowerSyncProtocol

extension UploadEntry {
    /// The entry as JSON, members without a value left out.
    package var json: JSONObject {
        var members: [JSONObject.Member] = [.init(name: "op_id", value: .integer(operationID))]
        if let transactionID { members.append(.init(name: "tx_id", value: .integer(transactionID))) }
        members.append(.init(name: "op", value: .string(op.rawValue)))
        members.append(.init(name: "type", value: .string(table)))
        members.append(.init(name: "id", value: .string(id)))
        if let data { members.append(.init(name: "data", value: .object(JSONObject(data)))) }
        if let previousValues { members.append(.init(name: "old", value: .object(JSONObject(previousValues)))) }
        if let metadata { members.append(.init(name: "metadata", value: .string(metadata))) }
        return JSONObject(members: members)
    }

    /// What the client wrote, in one form: members sorted by their names, without the numbers of entry and transaction.
    ///
    /// Digests of it are stored, so the form must never change.
    package var contentText: String {
        var content = json
        content["op_id"] = nil
        content["tx_id"] = nil
        return content.canonicalText
    }

    /// Reads an entry.
    ///
    /// Members that are not known are left alone, and null is like a member that is missing.
    ///
    /// - Parameters:
    ///   - value: The JSON.
    ///   - path: Where it is in the request, for messages.
    ///   - defaultID: Its `op_id`, if it may be without; `nil` if it must have one.
    /// - Throws: ``UploadFormatError``.
    package init(_ value: ExactJSON, at path: String, defaultID: Int64?) throws(UploadFormatError) {
        guard case .object(let entry) = value else { throw UploadFormatError("\(path): must be an object") }
        func member(_ name: String) -> ExactJSON? {
            let value = entry[name]
            return value == .null ? nil : value
        }
        func integer(_ name: String) throws(UploadFormatError) -> Int64? {
            switch member(name) {
            case nil: return nil
            case .integer(let number): return number
            default: throw UploadFormatError("\(path): \(name) must be an integer of 64 bits")
            }
        }
        func string(_ name: String, _ what: String) throws(UploadFormatError) -> String? {
            switch member(name) {
            case nil: return nil
            case .string(let text): return text
            default: throw UploadFormatError("\(path): \(name) must be \(what)")
            }
        }
        func columns(_ name: String) throws(UploadFormatError) -> JsonParam? {
            switch member(name) {
            case nil: return nil
            case .object(let object):
                guard !object.hasNonFiniteNumber else {
                    throw UploadFormatError("\(path): \(name) has a number that is too large")
                }
                return JsonParam(object)
            default: throw UploadFormatError("\(path): \(name) must be an object of columns")
            }
        }
        guard let operationID = try integer("op_id") ?? defaultID else {
            throw UploadFormatError("\(path): op_id must be an integer of 64 bits")
        }
        guard let name = try string("op", "PUT, PATCH or DELETE") else {
            throw UploadFormatError("\(path): op must be PUT, PATCH or DELETE")
        }
        guard let op = UpdateType(rawValue: name) else {
            throw UploadFormatError("\(path): op must be PUT, PATCH or DELETE, not \"\(name.prefix(20))\"")
        }
        guard let table = try string("type", "the name of a table") else {
            throw UploadFormatError("\(path): type must be the name of a table")
        }
        guard let id = try string("id", "a string") else { throw UploadFormatError("\(path): id must be a string") }
        self.init(
            operationID: operationID,
            op: op,
            table: table,
            id: id,
            transactionID: try integer("tx_id"),
            data: try columns("data"),
            previousValues: try columns("old"),
            metadata: try string("metadata", "a string")
        )
    }
}
