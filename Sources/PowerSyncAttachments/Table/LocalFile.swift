import PowerSyncClient

/// Where the file of an attachment was found on this device.
enum LocalFile: Sendable, Equatable {
    /// At the row's own path.
    case inPlace
    /// Not at the row's path, but at the one that its file name has now: the directory was moved, for example.
    case moved(to: String)
    /// At neither of them.
    case missing
}
