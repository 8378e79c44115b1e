module session

go 1.18
