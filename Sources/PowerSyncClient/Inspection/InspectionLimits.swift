/// How much readers outside of an app can ask of it.
struct InspectionLimits: Sendable {
    /// The longest line that is read, in bytes; a longer one ends its connection.
    var lineBytes = 1024 * 1024
    /// How many connections are served at once; one more is told so, and ended.
    var connections = 8
    /// The time after which a statement is ended.
    var queryTime = Duration.seconds(5)
    /// The size of the rows of an answer, in bytes; what does not fit is left out.
    var answerBytes = 8 * 1024 * 1024
    /// The longest text or blob that a statement can read or make, in bytes.
    var valueBytes = 32 * 1024 * 1024
    /// The least time between two changes of the status that are told.
    var pause = Duration.milliseconds(100)
}
