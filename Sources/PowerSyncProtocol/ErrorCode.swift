/// A code that tells programs what went wrong.
///
/// Codes from other services are kept as they are; compare with the constants.
package struct ErrorCode: RawRepresentable, Hashable, Sendable {
    /// The code, `PSYNC_S2106` for example.
    package let rawValue: String

    /// Creates a code from its text.
    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    private init(_ rawValue: String) {
        self.rawValue = rawValue
    }
}

extension ErrorCode {
    /// The sync config cannot be parsed.
    package static let invalidSyncConfig = ErrorCode("PSYNC_R0001")
    /// An assertion inside the service failed.
    package static let internalAssertion = ErrorCode("PSYNC_S0001")
    /// Nothing was deleted, as the word that confirms it is missing.
    package static let unconfirmed = ErrorCode("PSYNC_S0102")
    /// A row exceeds the size limit.
    package static let rowTooLarge = ErrorCode("PSYNC_S1002")
    /// Another process replicates this stream.
    package static let replicationLocked = ErrorCode("PSYNC_S1003")
    /// JSON in a row is nested too deep.
    package static let nestingTooDeep = ErrorCode("PSYNC_S1004")
    /// The storage has a version that this service cannot use.
    package static let unsupportedStorageVersion = ErrorCode("PSYNC_S1005")
    /// A first copy of the source was stopped.
    package static let copyStopped = ErrorCode("PSYNC_S1103")
    /// The certificates of the authority of a server are missing.
    package static let authorityMissing = ErrorCode("PSYNC_S1104")
    /// A connection does not name a database.
    package static let databaseMissing = ErrorCode("PSYNC_S1105")
    /// A connection does not name a host.
    package static let hostMissing = ErrorCode("PSYNC_S1106")
    /// A connection does not name a user.
    package static let userMissing = ErrorCode("PSYNC_S1107")
    /// A connection does not have a password.
    package static let passwordMissing = ErrorCode("PSYNC_S1108")
    /// A text is no URI of a database.
    package static let notADatabaseURI = ErrorCode("PSYNC_S1109")
    /// A value is no port.
    package static let notAPort = ErrorCode("PSYNC_S1110")
    /// The source has refused a query.
    package static let sourceQuery = ErrorCode("PSYNC_S1120")
    /// A query of the source took too long.
    package static let sourceTimeout = ErrorCode("PSYNC_S1121")
    /// Parameters failed validation (status 400), or any error without a code of its own (status 500).
    package static let generic = ErrorCode("PSYNC_S2001")
    /// The path does not exist.
    package static let routeNotFound = ErrorCode("PSYNC_S2002")
    /// The service is shutting down.
    package static let unavailable = ErrorCode("PSYNC_S2003")
    /// The media type is not supported.
    package static let unsupportedMediaType = ErrorCode("PSYNC_S2004")
    /// The token is malformed, or any other failure of authentication.
    package static let authentication = ErrorCode("PSYNC_S2101")
    /// The token's signature is invalid.
    package static let tokenSignature = ErrorCode("PSYNC_S2102")
    /// The token has expired.
    package static let tokenExpired = ErrorCode("PSYNC_S2103")
    /// The token is valid for longer than allowed.
    package static let tokenLifetime = ErrorCode("PSYNC_S2104")
    /// The token is for another audience.
    package static let tokenAudience = ErrorCode("PSYNC_S2105")
    /// There is no token.
    package static let tokenMissing = ErrorCode("PSYNC_S2106")
    /// The configuration of authentication is wrong.
    package static let authenticationConfiguration = ErrorCode("PSYNC_S2201")
    /// The address of a key set is IPv6.
    package static let keySetAddressFamily = ErrorCode("PSYNC_S2202")
    /// The address of a key set is in a range that is not allowed.
    package static let keySetAddressRange = ErrorCode("PSYNC_S2203")
    /// A key set could not be fetched.
    package static let keySetRequest = ErrorCode("PSYNC_S2204")
    /// No sync config is active.
    package static let noSyncConfig = ErrorCode("PSYNC_S2302")
    /// Too many connections.
    package static let connectionLimit = ErrorCode("PSYNC_S2304")
    /// Too many buckets, parameter results or lookups.
    package static let bucketLimit = ErrorCode("PSYNC_S2305")
    /// The storage's cluster time is not available.
    package static let storageClusterTime = ErrorCode("PSYNC_S2401")
    /// The storage cannot be reached.
    package static let storageConnection = ErrorCode("PSYNC_S2402")
    /// The storage took too long.
    package static let storageTimeout = ErrorCode("PSYNC_S2403")
    /// A query of the storage failed.
    package static let storageQuery = ErrorCode("PSYNC_S2404")
    /// The keys of a source or of a storage in the configuration cannot be used.
    package static let moduleKeys = ErrorCode("PSYNC_S3201")
    /// The address of a key set is not a URL.
    package static let keySetURL = ErrorCode("PSYNC_S3102")
    /// The address of a key set has a scheme or a host that is not allowed.
    package static let keySetHost = ErrorCode("PSYNC_S3103")
    /// An assertion in an admin route failed.
    package static let adminAssertion = ErrorCode("PSYNC_S4001")
    /// There is no active config to act on.
    package static let noActiveConfig = ErrorCode("PSYNC_S4104")
    /// The config routes are disabled.
    package static let configRoutesDisabled = ErrorCode("PSYNC_S4105")
    /// Another config is being deployed.
    package static let deployConflict = ErrorCode("PSYNC_S4106")
}

extension ErrorCode {
    /// The HTTP status that goes with the code; 500 for codes that do not name one.
    ///
    /// ``generic`` is 500; validation failures with that code state 400 themselves.
    package var httpStatus: Int {
        switch self {
        case .invalidSyncConfig, .noActiveConfig, .configRoutesDisabled: 422
        case .routeNotFound: 404
        case .unavailable: 503
        case .unsupportedMediaType: 415
        case .deployConflict: 409
        case .connectionLimit: 429
        case .authenticationConfiguration, .keySetRequest: 401
        default: isTokenRejected ? 401 : 500
        }
    }

    /// Whether the token was rejected, `PSYNC_S21…`.
    ///
    /// Clients then fetch new credentials before they try again.
    package var isTokenRejected: Bool { rawValue.hasPrefix("PSYNC_S21") }
}

extension ErrorCode: CustomStringConvertible {
    package var description: String { rawValue }
}
