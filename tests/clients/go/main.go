// List, create, poll, and take a 409 and a 404 with the client of openapi-generator.
package main

import (
	"context"
	"fmt"
	"os"
	"session/client"
	"time"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func printProblem(err error) {
	problem := err.(*client.GenericOpenAPIError).Model().(client.Problem)
	fmt.Println(problem.Status, problem.Code)
}

func main() {
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: os.Args[1]}}
	service := client.NewAPIClient(configuration)
	with := context.WithValue(context.Background(), client.ContextAccessToken, "dev-token")
	listed, _, err := service.ProjectsAPI.ListProjects(with).Execute()
	check(err)
	fmt.Println(len(listed.Projects), "projects")
	shop := *client.NewProjectInput("shop")
	created, _, err := service.ProjectsAPI.CreateProject(with).ProjectInput(shop).Execute()
	check(err)
	status := "queued"
	for status != "succeeded" && status != "failed" && status != "canceled" {
		time.Sleep(50 * time.Millisecond)
		deployment, _, err := service.DeploymentsAPI.GetDeployment(with, created.LatestDeploymentId).Execute()
		check(err)
		if *deployment.ProjectId.Get() != created.Id {
			panic("another project")
		}
		status = deployment.Status
	}
	fmt.Println(status)
	_, _, err = service.ProjectsAPI.CreateProject(with).ProjectInput(shop).Execute()
	printProblem(err)
	_, _, err = service.DeploymentsAPI.GetDeployment(with, "a/b").Execute()
	printProblem(err)
}
