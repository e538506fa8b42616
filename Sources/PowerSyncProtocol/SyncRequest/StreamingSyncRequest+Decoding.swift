package import NIOCore

extension StreamingSyncRequest {
    /// Where halves of surrogate pairs are U+FFFD: in what an app tells of itself.
    ///
    /// Names of streams and buckets and the id of the client identify, and are refused with them.
    package static let halfPairs = JSONScanner.HalfPairs.replacedIn(["parameters", "app_metadata"])

    /// Reads and validates the body of a request.
    ///
    /// Everything that is wrong is reported at once. Unknown members are ignored. When a bucket is listed twice, its
    /// last position counts. Parameters may have numbers that no double can hold; those are infinite.
    ///
    /// - Throws: ``RequestValidationError`` with the paths of the fields.
    package init(json: ByteBuffer) throws(RequestValidationError) {
        let body: ExactJSON
        do throws(JSONError) {
            body = try ExactJSON(parsing: json, hugeNumbers: .infinite, halfPairs: Self.halfPairs)
        } catch {
            throw RequestValidationError(problems: [.init(path: "", message: "body is not valid JSON: \(error)")])
        }
        try self.init(body)
    }

    /// Reads and validates a body that is a BSON document, as RSocket allows.
    ///
    /// - Throws: ``RequestValidationError``, as ``init(json:)``.
    package init(bson: ByteBuffer) throws(RequestValidationError) {
        let body: ExactJSON
        do throws(BSONError) {
            body = try ExactJSON(bson: bson)
        } catch {
            throw RequestValidationError(problems: [.init(path: "", message: "body is not valid BSON: \(error)")])
        }
        try self.init(body)
    }

    /// Validates the body of a request that has been read already.
    ///
    /// - Throws: ``RequestValidationError`` with the paths of the fields.
    package init(_ body: ExactJSON) throws(RequestValidationError) {
        var validator = RequestValidator()
        let request = validator.request(from: body)
        guard validator.problems.isEmpty else { throw RequestValidationError(problems: validator.problems) }
        self = request
    }
}

/// Reads a request from JSON and collects what is wrong with it.
///
/// Each function returns something usable even after a problem; the result counts only if there was none.
private struct RequestValidator {
    private(set) var problems: [RequestValidationError.Problem] = []

    mutating func request(from body: ExactJSON) -> StreamingSyncRequest {
        var request = StreamingSyncRequest(rawData: false)
        guard case .object(let members) = body else {
            report("", "body has to be a JSON object")
            return request
        }
        request.buckets = buckets(members["buckets"])
        request.clientID = optionalString(members["client_id"], "client_id")
        if let id = request.clientID, id.utf8.count > StreamingSyncRequest.maximumClientIDLength {
            report("client_id", "has to have at most \(StreamingSyncRequest.maximumClientIDLength) bytes")
        }
        request.parameters = optionalObject(members["parameters"], "parameters") ?? JSONObject()
        request.streams = streams(members["streams"])
        request.appMetadata = appMetadata(members["app_metadata"])
        request.rawData = optionalBool(members["raw_data"], "raw_data") ?? false
        // Accepted without effect.
        _ = optionalBool(members["include_checksum"], "include_checksum")
        _ = optionalBool(members["binary_data"], "binary_data")
        only(members["only"])
        return request
    }

    private mutating func buckets(_ value: ExactJSON?) -> [StreamingSyncRequest.BucketPosition] {
        var positions: [StreamingSyncRequest.BucketPosition] = []
        var places: [BucketName: Int] = [:]
        for (path, element) in elements(value, "buckets") {
            guard let members = object(element, path) else { continue }
            let name = BucketName(string(members["name"], path + ".name"))
            let position = StreamingSyncRequest.BucketPosition(
                name: name,
                after: after(members["after"], path + ".after")
            )
            if let place = places[name] {
                positions[place] = position
            } else {
                places[name] = positions.count
                positions.append(position)
            }
        }
        return positions
    }

    private mutating func after(_ value: ExactJSON?, _ path: String) -> OpID {
        // 19 digits are the most that 2^63 - 1 has.
        guard case .string(let digits) = value, digits.utf8.count <= 19, let id = OpID(decimal: digits) else {
            report(path, "has to be a string of 1 to 19 decimal digits, at most 9223372036854775807")
            return .zero
        }
        return id
    }

    private mutating func streams(_ value: ExactJSON?) -> StreamingSyncRequest.Streams {
        guard let members = optionalObject(value, "streams") else { return StreamingSyncRequest.Streams() }
        let includeDefaults = optionalBool(members["include_defaults"], "streams.include_defaults") ?? true
        let path = "streams.subscriptions"
        guard let list = members["subscriptions"] else {
            report(path, "is required")
            return StreamingSyncRequest.Streams()
        }
        if case .array(let elements) = list, elements.count > StreamingSyncRequest.maximumSubscriptions {
            report(
                path,
                "has \(elements.count) entries; at most \(StreamingSyncRequest.maximumSubscriptions) are possible"
            )
            return StreamingSyncRequest.Streams()
        }
        return StreamingSyncRequest.Streams(
            includeDefaults: includeDefaults,
            subscriptions: elements(list, path).map { subscription($0.value, $0.path) }
        )
    }

    private mutating func subscription(_ value: ExactJSON, _ path: String) -> StreamingSyncRequest.Subscription {
        guard let members = object(value, path) else { return StreamingSyncRequest.Subscription(stream: "") }
        for name in ["parameters", "override_priority"] where members[name] == nil {
            report("\(path).\(name)", "is required, and may be null")
        }
        return StreamingSyncRequest.Subscription(
            stream: string(members["stream"], path + ".stream"),
            parameters: optionalObject(members["parameters"], path + ".parameters"),
            overridePriority: overridePriority(members["override_priority"], path + ".override_priority")
        )
    }

    private mutating func overridePriority(_ value: ExactJSON?, _ path: String) -> Priority? {
        switch value {
        case nil, .null: return nil
        case .integer(let number) where 0...3 ~= number: return Priority(Int32(number))
        case .double(let number) where [0, 1, 2, 3].contains(number): return Priority(Int32(number))
        default:
            report(path, "has to be an integer between 0 and 3, or null")
            return nil
        }
    }

    private mutating func appMetadata(_ value: ExactJSON?) -> [String: String] {
        var metadata: [String: String] = [:]
        for member in optionalObject(value, "app_metadata")?.members ?? [] {
            metadata[member.name] = string(member.value, "app_metadata.\(member.name.prefix(64))")
        }
        return metadata
    }

    private mutating func only(_ value: ExactJSON?) {
        for (path, element) in elements(value, "only") { _ = string(element, path) }
    }
}

// MARK: Values

extension RequestValidator {
    /// The elements of an array with their paths; none when the array is missing.
    private mutating func elements(_ value: ExactJSON?, _ path: String) -> [(path: String, value: ExactJSON)] {
        guard let value else { return [] }
        guard case .array(let elements) = value else {
            report(path, "has to be an array")
            return []
        }
        return elements.enumerated().map { ("\(path)[\($0.offset)]", $0.element) }
    }

    private mutating func object(_ value: ExactJSON, _ path: String) -> JSONObject? {
        if case .object(let object) = value { return object }
        report(path, "has to be an object")
        return nil
    }

    /// An object that may be missing or null.
    private mutating func optionalObject(_ value: ExactJSON?, _ path: String) -> JSONObject? {
        switch value {
        case nil, .null: return nil
        case let value?: return object(value, path)
        }
    }

    private mutating func string(_ value: ExactJSON?, _ path: String) -> String {
        if case .string(let text) = value { return text }
        report(path, value == nil ? "is required" : "has to be a string")
        return ""
    }

    private mutating func optionalString(_ value: ExactJSON?, _ path: String) -> String? {
        value.map { string($0, path) }
    }

    private mutating func optionalBool(_ value: ExactJSON?, _ path: String) -> Bool? {
        guard let value else { return nil }
        if case .bool(let flag) = value { return flag }
        report(path, "has to be true or false")
        return nil
    }

    private mutating func report(_ path: String, _ message: String) {
        guard problems.count < RequestValidationError.maximumProblemCount else { return }
        problems.append(RequestValidationError.Problem(path: path, message: message))
    }
}
