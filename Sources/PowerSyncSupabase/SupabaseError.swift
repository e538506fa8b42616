public import Foundation
import PowerSync
import PowerSyncUpload

/// Why Supabase could not do something.
public struct SupabaseError: Error, Sendable {
    /// The kinds of failures.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: Sendable { case connection, status, signedOut, unexpectedResponse, notChanged, notFound }

        private let value: Value

        /// The server could not be reached, or the connection broke.
        public static let connection = Code(value: .connection)
        /// The server answered with a status other than 200 to 299.
        public static let status = Code(value: .status)
        /// No user is signed in, or the session has ended.
        public static let signedOut = Code(value: .signedOut)
        /// The server answered with something that does not fit the request.
        public static let unexpectedResponse = Code(value: .unexpectedResponse)

        /// The server has the row of a write and did not change it, without an error: a policy (`USING`) hides it from the write, or a
        /// trigger has kept it.
        public static let notChanged = Code(value: .notChanged)
        /// The server has no row to change, or none that the user may read.
        public static let notFound = Code(value: .notFound)

        /// The name of the code.
        public var description: String { "\(value)" }
    }

    /// What kind of failure this is.
    public let code: Code
    /// What happened; the server's message, if it gave one.
    ///
    /// That of an error about data (SQLSTATE class 22) quotes the value, which ``description``, which is logged, leaves out.
    public let message: String
    /// The HTTP status, when there was an answer.
    public let httpStatus: Int?
    /// What the server calls the failure: PostgREST's `PGRST301`, an SQLSTATE of PostgreSQL such as `23505`, a code of the sign-in such as
    /// `invalid_grant`.
    public let serverCode: String?
    /// What the server adds to the message: often values of the row (`Key (email)=(a@b.c) already exists.`), so it is no part of
    /// ``description``, which is logged.
    public let details: String?
    /// What caused it.
    public let underlyingError: (any Error)?

    init(
        _ code: Code,
        _ message: String,
        httpStatus: Int? = nil,
        serverCode: String? = nil,
        underlyingError: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.httpStatus = httpStatus
        self.serverCode = serverCode
        details = nil
        self.underlyingError = underlyingError
    }

    /// What an answer with a status that is not one of success says.
    init(_ answer: AttachmentHTTPClient.Answer) {
        // PostgREST: code, message, details. GoTrue: error_code and msg, before that error and error_description.
        let fields = try? JSONDecoder().decode(Fields.self, from: answer.body)
        code = .status
        httpStatus = answer.status
        serverCode = fields?.errorCode ?? fields?.code?.text ?? fields?.error
        message = fields?.message ?? fields?.msg ?? fields?.errorDescription ?? answer.failure().message
        details = fields?.details
        underlyingError = nil
    }

    private struct Fields: Decodable {
        var code: Text?
        var errorCode: String?
        var error: String?
        var message: String?
        var msg: String?
        var errorDescription: String?
        var details: String?

        enum CodingKeys: String, CodingKey {
            case code, error, message, msg, details
            case errorCode = "error_code"
            case errorDescription = "error_description"
        }

        /// A text; GoTrue has numbers in its place.
        struct Text: Decodable {
            var text: String?

            init(from decoder: any Decoder) throws {
                text = try? decoder.singleValueContainer().decode(String.self)
            }
        }
    }
}

extension SupabaseError: LocalizedError, CustomStringConvertible {
    /// The text for people.
    public var errorDescription: String? { description }

    /// The message with the server's code.
    public var description: String {
        serverCode.map { "\(ServerMessage.ofPostgres(message, state: $0)) (\($0))" } ?? message
    }
}
