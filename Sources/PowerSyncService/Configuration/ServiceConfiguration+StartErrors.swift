import Foundation
import NIOCore
import PowerSyncServiceCore
import PowerSyncServicePostgres
import PowerSyncTokens

/// What keeps a service from starting, in the words for whoever started it.
extension ServiceConfiguration {
    /// The error for whoever started the service.
    func startError(_ error: any Error) -> any Error {
        switch error {
        case let error as IOError where error.errnoCode == EADDRINUSE:
            ServiceError(
                .portInUse,
                "port \(port) is in use; stop the other process or choose another port",
                key: "port",
                underlyingError: error
            )
        case let error as IOError where error.errnoCode == EACCES || error.errnoCode == EADDRNOTAVAIL:
            ServiceError(
                .invalidConfiguration,
                "cannot listen on \(host):\(port)",
                key: "port",
                underlyingError: error
            )
        case let error as ReplicationSourceError where error.code == .configuration:
            ServiceError(sourceErrorCode, error.message, key: "replication.connections[0]")
        case is BucketStorageError, is ReplicationSourceError:
            ServiceError(.storage, "\(error)", underlyingError: error)
        default:
            error
        }
    }

    /// The error of a storage in PostgreSQL, for whoever started the service, or maintains its storage.
    func storageError(_ error: any Error) -> any Error {
        guard case .postgres(let settings, _) = storage.kind else { return error }
        switch error {
        case let error as BucketStorageError:
            return ServiceError(.storage, error.message, key: "storage", underlyingError: error.underlyingError)
        case let error as PostgresError:
            let remedy = PostgresCheck.remedy(for: error).map { " \($0)" } ?? ""
            return ServiceError(
                .storage,
                "the bucket storage, \(settings), cannot be used.\(remedy)",
                key: "storage",
                underlyingError: error
            )
        default:
            return error
        }
    }
}

extension ClientAuthentication {
    /// Checks the configured keys, and where others come from.
    ///
    /// - Throws: ``ServiceError`` that names the key.
    func checkKeys() async throws(ServiceError) {
        try checkKeySources()
        for key in keys.map(\.key) {
            do {
                try await key.checkMaterial()
            } catch {
                throw ServiceError(
                    .invalidConfiguration,
                    error.message,
                    key: "client_auth.jwks.keys (kid \(key.id ?? "none"))"
                )
            }
        }
    }
}
