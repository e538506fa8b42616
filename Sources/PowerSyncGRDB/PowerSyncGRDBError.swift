/// An error of the established SDK's integration with GRDB.
///
/// Kept so that apps that match it compile. This implementation is part of the app's own code: there is no bundle and no
/// extension that could fail to load.
public enum PowerSyncGRDBError: Error {
    /// The bundle of the native extension is missing.
    case coreBundleNotFound
    /// The native extension could not be loaded.
    case extensionLoadFailed(String)
    /// The native extension could not be loaded, for an unknown reason.
    case unknownExtensionLoadError
    /// A connection is not open.
    case connectionUnavailable
}
