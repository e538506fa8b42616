import PowerSync

func printWhatIsGoingOn(_ database: any PowerSyncDatabaseProtocol) async {
    print(database.currentStatus)
    for await activity in database.currentStatus.activities() {
        print(activity)
    }
}
