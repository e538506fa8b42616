import HTTPConnections
import NIOCore
import PowerSyncProtocol

/// The encoding of the metadata or the data of RSocket frames, from the MIME types of the SETUP.
enum RequestEncoding: Sendable {
    case json
    case bson

    /// The encoding for a MIME type.
    ///
    /// - Throws: ``ErrorEnvelope`` with code `PSYNC_S2004` for any other type.
    init(mimeType: String) throws(ErrorEnvelope) {
        // Of any case, and with any parameters (RFC 9110, 8.3.1).
        switch mimeType.prefix(while: { $0 != ";" }).trimmingSpaces().lowercased() {
        case "application/json": self = .json
        case "application/bson": self = .bson
        default:
            throw ErrorEnvelope(
                code: .unsupportedMediaType,
                description: "Unsupported Media Type",
                name: "UnsupportedMediaType",
                details: "Expected JSON or BSON request, got \(mimeType)"
            )
        }
    }

    /// Reads an object.
    ///
    /// - Throws: ``ErrorEnvelope`` with code `PSYNC_S2001`.
    func object(_ bytes: ByteBuffer) throws(ErrorEnvelope) -> JSONObject {
        let value: ExactJSON
        do {
            value = try self == .json ? ExactJSON(parsing: bytes) : ExactJSON(bson: bytes)
        } catch {
            throw .validationFailed(["the metadata cannot be read: \(error)"])
        }
        guard case .object(let object) = value else { throw .validationFailed(["the metadata must be an object"]) }
        return object
    }

    /// Reads the body of a request.
    ///
    /// - Throws: ``ErrorEnvelope`` with code `PSYNC_S2001`.
    func syncRequest(_ bytes: ByteBuffer) throws(ErrorEnvelope) -> StreamingSyncRequest {
        do throws(RequestValidationError) {
            return try self == .json ? StreamingSyncRequest(json: bytes) : StreamingSyncRequest(bson: bytes)
        } catch {
            throw .validationFailed(error.messages)
        }
    }
}

extension JSONObject {
    /// The text of a member; `nil` when it is missing or something else.
    func string(_ name: String) -> String? {
        if case .string(let text) = self[name] { text } else { nil }
    }
}
